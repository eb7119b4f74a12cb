"""embed.py OUT FILE...: the pages of web_static.h as C: index.html is /, any other FILE is /page/NAME."""
import pathlib
import sys

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}

out, files = pathlib.Path(sys.argv[1]), [pathlib.Path(name) for name in sys.argv[2:]]
text = '// Made by src/ctl/http/page/embed.py.\n#include "ctl/http/web_static.h"\n\n'
rows = []
for i, file in enumerate(files):
    data = file.read_bytes()
    path = "/" if file.name == "index.html" else "/page/" + file.name
    text += "static const unsigned char file%d[] = {\n" % i
    for at in range(0, len(data), 64):
        text += ",".join(map(str, data[at:at + 64])) + ",\n"
    text += "};\n"
    rows.append('    {"%s", "%s; charset=utf-8", file%d, sizeof(file%d)},\n' % (path, TYPES[file.suffix], i, i))
text += "const struct web_static web_statics[] = {\n" + "".join(rows) + "};\n"
text += "const unsigned web_n_statics = %d;\n" % len(files)
out.write_text(text)
