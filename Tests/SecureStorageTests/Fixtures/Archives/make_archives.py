"""Writes keyed archives as Apple's NSKeyedArchiver lays them out, and hostile ones.

Run in this folder: python3 make_archives.py. Only Python's own plistlib is used.
"""
import pathlib
import plistlib
import struct
import unicodedata
from plistlib import UID

HERE = pathlib.Path(__file__).parent


class Archive:
    """The `$objects` of an archive."""

    def __init__(self):
        self.objects = ["$null"]
        self.classes = {}

    def add(self, value):
        self.objects.append(value)
        return UID(len(self.objects) - 1)

    def cls(self, *names):
        if names not in self.classes:
            self.classes[names] = self.add({"$classname": names[0], "$classes": list(names)})
        return self.classes[names]

    def object(self, names, **fields):
        uid = self.add({})
        self.objects[uid.data].update({k.replace("_", "."): v for k, v in fields.items()})
        self.objects[uid.data]["$class"] = self.cls(*names)
        return uid

    def array(self, items, name="NSArray"):
        chain = [name] if name == "NSArray" else [name, "NSArray"]
        return self.object(chain + ["NSObject"], NS_objects=list(items))

    def dictionary(self, pairs):
        return self.object(
            ["NSDictionary", "NSObject"],
            NS_keys=[k for k, _ in pairs], NS_objects=[v for _, v in pairs])

    def plist(self, root, **changes):
        result = {
            "$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": root},
            "$objects": self.objects}
        result.update({"$" + key: value for key, value in changes.items()})
        return {k: v for k, v in result.items() if v is not None}

    def data(self, root, **changes):
        return plistlib.dumps(
            self.plist(root, **changes), fmt=plistlib.FMT_BINARY, sort_keys=False)


def write(name, data):
    (HERE / name).write_bytes(data)


def good():
    a = Archive()
    write("good-string.plist", a.data(a.add("Grüße, 世界 𝄞")))

    a = Archive()
    numbers = [a.add(x) for x in (True, 42, -7, 1.5, 2**63 + 5)]
    write("good-numbers.plist", a.data(a.array(numbers)))

    a = Archive()
    url = a.object(["NSURL", "NSObject"], NS_base=a.object(
        ["NSURL", "NSObject"], NS_base=UID(0), NS_relative=a.add("https://example.org/a/")),
        NS_relative=a.add("b?c"))
    values = [
        ("text", a.add("plain")),
        ("mutable", a.object(["NSMutableString", "NSString", "NSObject"], NS_string="soft")),
        ("data", a.add(b"\x00\x01")),
        ("mutable data", a.object(["NSMutableData", "NSData", "NSObject"], NS_data=b"\x02")),
        ("date", a.object(["NSDate", "NSObject"], NS_time=86400.5)),
        ("null", a.object(["NSNull", "NSObject"])),
        ("uuid", a.object(["NSUUID", "NSObject"], NS_uuidbytes=bytes(range(16)))),
        ("url", url),
        ("array", a.array([a.add("x"), a.add(1)], "NSMutableArray")),
        ("set", a.object(["NSSet", "NSObject"], NS_objects=[a.add("in set")])),
        ("ordered", a.object(["NSOrderedSet", "NSObject"], **{
            "NS_object_0": a.add("first"), "NS_object_1": a.add("second")})),
        ("inner", a.dictionary([(a.add("k"), a.add("v"))])),
    ]
    write("good-dictionary.plist", a.data(a.dictionary([(a.add(k), v) for k, v in values])))

    a = Archive()
    names = ["SecureStorageTests.Person", "NSObject"]
    child = a.object(names, name=a.add("Ada"), age=36, height=1.65, isMember=True,
                     born=a.object(["NSDate", "NSObject"], NS_time=-1.0), friend=UID(0))
    root = a.object(names, name=a.add("Bob"), age=40, height=1.8, isMember=False,
                    born=a.object(["NSDate", "NSObject"], NS_time=2.0), friend=child)
    write("good-person.plist", a.data(root))

    a = Archive()
    shared = a.add("shared")
    for _ in range(10):
        shared = a.array([shared, shared])
    write("good-shared.plist", a.data(shared))


def bad_graphs():
    def case(name, make):
        a = Archive()
        write(f"bad-{name}.plist", make(a))

    def simple(a, **fields):
        return a.data(a.object(["NSArray", "NSObject"], NS_objects=[a.add("x")]), **fields)

    def with_class(a, reference):
        return a.data(a.add({"$class": reference, "NS.objects": []}))

    case("class-out-of-range", lambda a: with_class(a, UID(99)))
    case("class-not-dictionary", lambda a: with_class(a, a.add("NSArray")))
    case("class-not-reference", lambda a: with_class(a, "NSArray"))
    case("class-missing", lambda a: a.data(a.add({"NS.objects": []})))
    case("class-null", lambda a: with_class(a, UID(0)))
    case("class-is-object", lambda a: with_class(a, a.array([])))
    case("class-without-name", lambda a: with_class(a, a.add({"$classes": ["NSArray"]})))
    case("class-without-classes", lambda a: with_class(a, a.add({"$classname": "NSArray"})))
    case("class-name-number", lambda a: with_class(a, a.add(
        {"$classname": 1, "$classes": ["NSArray"]})))
    case("class-lie", lambda a: with_class(a, a.add(
        {"$classname": "NSTask", "$classes": ["NSArray", "NSObject"]})))
    case("class-hint-lie", lambda a: with_class(a, a.add(
        {"$classname": "Gone", "$classes": ["Gone"], "$classhints": ["NSArray"]})))
    case("class-task", lambda a: a.data(a.object(["NSTask", "NSObject"])))
    case("class-task-inside", lambda a: a.data(a.array([a.object(["NSTask", "NSObject"])])))
    case("class-gone", lambda a: a.data(a.object(["App.Gone", "NSObject"])))
    case("class-gone-inside", lambda a: a.data(a.array([a.object(["App.Gone"])])))
    case("class-mangled", lambda a: a.data(a.object(["_TtC4main3Foo"])))
    case("class-odd-names", lambda a: a.data(a.array(
        [a.object([n]) for n in ("", ".", "..", "a.b.c", "Swift.Int", "$s4main", "\0.\0")])))
    case("class-of-test-inside", lambda a: a.data(a.array(
        [a.object(["SecureStorageTests.Person", "NSObject"], name=a.add("x"))])))
    case("reference-to-class", lambda a: a.data(a.array([a.cls("NSArray", "NSObject")])))
    case("object-out-of-range", lambda a: a.data(a.array([UID(2**31)])))
    case("object-not-reference", lambda a: a.data(a.array(["text"])))
    case("object-null-inside", lambda a: a.data(a.array([UID(0)])))
    case("object-fields-not-array", lambda a: a.data(
        a.object(["NSArray", "NSObject"], NS_objects=5)))
    case("object-is-array", lambda a: a.data(a.add([a.add("x")])))
    case("root-out-of-range", lambda a: a.data(UID(77)))
    case("root-null", lambda a: a.data(UID(0)))
    case("root-not-reference", lambda a: a.data("text"))
    case("root-missing", lambda a: simple(a, top={"other": UID(1)}))
    case("top-missing", lambda a: simple(a, top=None))
    case("objects-missing", lambda a: simple(a, objects=None))
    case("objects-empty", lambda a: simple(a, objects=[]))
    case("objects-first-not-null", lambda a: simple(a, objects=["x", "y"]))
    case("version", lambda a: simple(a, version=100001))
    case("version-text", lambda a: simple(a, version="100000"))
    case("version-missing", lambda a: simple(a, version=None))
    case("archiver", lambda a: simple(a, archiver="NRKeyedArchiver"))
    case("archiver-missing", lambda a: simple(a, archiver=None))
    case("keys-without-values", lambda a: a.data(a.object(
        ["NSDictionary", "NSObject"], NS_keys=[a.add("a"), a.add("b")], NS_objects=[a.add("c")])))
    case("uuid-short", lambda a: a.data(a.array(
        [a.object(["NSUUID", "NSObject"], NS_uuidbytes=b"123")])))
    case("date-text", lambda a: a.data(a.array([a.object(["NSDate", "NSObject"], NS_time="now")])))
    case("url-number", lambda a: a.data(a.array([a.object(
        ["NSURL", "NSObject"], NS_base=UID(0), NS_relative=a.add(7))])))
    for name, text in (("empty", ""), ("bracket", "http://["), ("spaces", "a b")):
        case(f"url-{name}", lambda a: a.data(a.array([a.object(
            ["NSURL", "NSObject"], NS_base=UID(0), NS_relative=a.add(text))])))
    case("url-empty-inline", lambda a: a.data(a.dictionary([(a.add("k"), a.object(
        ["NSURL", "NSObject"], NS_base=UID(0), NS_relative=""))])))
    # Equal for Foundation on Linux, with different hashes.
    spellings = [unicodedata.normalize(form, "é" * 20) for form in ("NFC", "NFD")]
    case("spellings-keys", lambda a: a.data(a.dictionary(
        [(a.add(text), a.add(1)) for text in spellings])))
    case("spellings-set", lambda a: a.data(a.array([a.object(
        ["NSSet", "NSObject"], NS_objects=[a.add(text) for text in spellings])])))
    case("ordered-sets-keys", lambda a: a.data(a.dictionary([(a.object(
        ["NSOrderedSet", "NSObject"], NS_object_0=a.add("x")), a.add(1)) for _ in range(50)])))
    # Ordered sets and sets compare these, and cannot.
    case("array-key-in-ordered-set", lambda a: a.data(a.array([a.object(
        ["NSOrderedSet", "NSObject"], NS_object_0=a.dictionary([(a.array([]), a.add(1))]))])))
    case("arrays-in-sets-in-set", lambda a: a.data(a.array([a.object(
        ["NSSet", "NSObject"], NS_objects=[a.object(
            ["NSSet", "NSObject"], NS_objects=[a.array([a.add(i)])]) for i in range(9)])])))
    case("nulls-set", lambda a: a.data(a.array([a.object(["NSSet", "NSObject"], NS_objects=[
        a.object(["NSNull", "NSObject"]) for _ in range(50)])])))
    case("string-number", lambda a: a.data(a.array(
        [a.object(["NSMutableString", "NSString", "NSObject"], NS_string=3)])))

    def itself(a):
        root = a.array([])
        a.objects[root.data]["NS.objects"] = [root]
        return a.data(root)

    def keyed_by_itself(a):
        root = a.dictionary([])
        a.objects[root.data].update({"NS.keys": [root], "NS.objects": [root]})
        return a.data(root)

    def own_base(a):
        url = a.object(["NSURL", "NSObject"], NS_relative=a.add("x"))
        a.objects[url.data]["NS.base"] = url
        return a.data(a.array([url]))

    def nested(count):
        def make(a):
            inner = a.array([])
            for _ in range(count):
                inner = a.array([inner])
            return a.data(inner)
        return make

    def shared(a):
        inner = a.add("x")
        for _ in range(29):
            inner = a.array([inner] * 10)
        return a.data(inner)

    case("contains-itself", itself)
    case("keyed-by-itself", keyed_by_itself)
    case("url-own-base", own_base)
    case("nested-65", nested(64))
    case("nested-5000", nested(5000))
    case("shared-29", shared)


def bplist(objects, top=0, count=None, offsets=None, offset_size=2, table=None):
    body = b"bplist00"
    places = []
    for item in objects:
        places.append(len(body))
        body += item
    start = len(body)
    for place in offsets or places:
        body += place.to_bytes(offset_size, "big")
    return body + bytes(6) + bytes([offset_size, 1]) + struct.pack(
        ">QQQ", len(objects) if count is None else count, top, start if table is None else table)


def bad_lists():
    text = b"\x51a"
    write("bad-list-empty.plist", b"")
    write("bad-list-header.plist", b"bplist00")
    write("bad-list-garbage.plist", bytes((i * 73 + 19) % 256 for i in range(4096)))
    write("bad-list-zeros.plist", bytes(4096))
    a = Archive()
    root = a.array([])
    write("bad-list-xml.plist", plistlib.dumps(
        {k: v for k, v in a.plist(1).items()} | {"$objects": ["$null"]}))
    write("bad-list-data-100mb.plist", bplist([b"\x4f\x12" + struct.pack(">I", 100 << 20)]))
    for kind, name in ((4, "data"), (5, "ascii"), (6, "utf16"), (10, "array"), (12, "set"),
                       (13, "dictionary")):
        marker = bytes([kind << 4 | 0xf])
        write(f"bad-list-{name}-2-60.plist", bplist([marker + b"\x13" + struct.pack(">Q", 1 << 60)]))
        write(f"bad-list-{name}-2-63.plist", bplist(
            [marker + b"\x13" + struct.pack(">Q", (1 << 63) - 1)]))
    write("bad-list-length-16-bytes.plist", bplist([b"\x4f\x14" + b"\xff" * 16]))
    write("bad-list-length-text.plist", bplist([b"\x4f\x51a"]))
    write("bad-list-count.plist", bplist([text], count=1 << 61))
    write("bad-list-count-max.plist", bplist([text], count=(1 << 64) - 1))
    write("bad-list-count-zero.plist", bplist([text], count=0))
    write("bad-list-top.plist", bplist([text], top=1))
    write("bad-list-table.plist", bplist([text], table=1 << 40))
    write("bad-list-table-max.plist", bplist([text], table=(1 << 64) - 1))
    write("bad-list-table-header.plist", bplist([text], table=0))
    write("bad-list-offset.plist", bplist([text], offsets=[60000]))
    write("bad-list-offset-header.plist", bplist([text], offsets=[0]))
    good = bplist([text])
    write("bad-list-offset-size-0.plist", good[:-26] + b"\0" + good[-25:])
    write("bad-list-offset-size-255.plist", good[:-26] + b"\xff" + good[-25:])
    write("bad-list-reference-size-0.plist", good[:-25] + b"\0" + good[-24:])
    write("bad-list-reference.plist", bplist([b"\xa1\x07"]))
    write("bad-list-itself.plist", bplist([b"\xa1\x00"]))
    write("bad-list-key-number.plist", bplist([b"\xd1\x01\x01", b"\x10\x01"]))
    write("bad-list-key-twice.plist", bplist([b"\xd2\x01\x01\x01\x01", text]))
    write("bad-list-marker.plist", bplist([b"\x70"]))
    write("bad-list-nested.plist", bplist(
        [bytes([0xa1, i + 1]) for i in range(200)] + [text]))
    write("bad-list-shared.plist", bplist(
        [bytes([0xa2, i + 1, i + 1]) for i in range(60)] + [text]))


def surrogates():
    # An archive of one text, whose last unit is then replaced by half of a pair.
    for name, unit in (("high", b"\xd8\x00"), ("low", b"\xdc\x00")):
        a = Archive()
        data = a.data(a.add("世界"))
        write(f"bad-list-surrogate-{name}.plist", data.replace("界".encode("utf-16-be"), unit))


good()
bad_graphs()
bad_lists()
surrogates()
