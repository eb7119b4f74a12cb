// mime.h: the media type of a file, by its extension.
#pragma once

// http_mime: the Content-Type for a file called `name`; "application/octet-stream" when the
// extension is missing or unknown. Case does not matter.
const char *http_mime(const char *name);
