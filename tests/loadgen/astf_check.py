"""astf_check.py PROFILE: loads a profile of TRex's ASTF with a stand-in for its library and prints what its client does:
the bytes sent and received on each connection, loops included."""
import importlib.util
import sys
import types


class Program:
    def __init__(self):
        self.steps, self.values, self.labels = [], {}, {}

    def set_var(self, name, value):
        self.values[name] = value

    def set_label(self, name):
        assert name.endswith(":"), "a label of ASTF ends with a colon"
        self.labels[name] = len(self.steps)

    def send(self, data):
        self.steps.append(("send", len(data)))

    def recv(self, number, clear=False):
        self.steps.append(("recv", number))

    def jmp_nz(self, name, label):
        self.steps.append(("jmp_nz", name, label))

    def run(self):
        at, done, values = 0, {"send": 0, "recv": 0}, dict(self.values)
        while at < len(self.steps):
            step = self.steps[at]
            at += 1
            if step[0] != "jmp_nz":
                done[step[0]] += step[1]
                continue
            values[step[1]] -= 1
            at = self.labels[step[2]] if values[step[1]] != 0 else at
        return done


def record(**given):
    return types.SimpleNamespace(**given)


def main():
    api = types.ModuleType("trex_astf_lib.api")
    api.ASTFProgram = Program
    for name in ("ASTFIPGen", "ASTFIPGenDist", "ASTFProfile", "ASTFTemplate", "ASTFTCPClientTemplate", "ASTFTCPServerTemplate"):
        setattr(api, name, record)
    sys.modules["trex_astf_lib"], sys.modules["trex_astf_lib.api"] = types.ModuleType("trex_astf_lib"), api
    spec = importlib.util.spec_from_file_location("profile", sys.argv[1])
    profile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(profile)
    got = profile.register().get_profile(tunables=["--answer", "500"])
    done = got.templates.client_template.program.run()
    print(done)
    assert done == {"send": profile.REQUESTS * len(profile.REQUEST), "recv": profile.REQUESTS * 500}


if __name__ == "__main__":
    main()
