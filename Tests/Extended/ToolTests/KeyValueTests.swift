import Foundation
import SecureStorage
import TestSupport
import Testing

struct KeyValueVerbTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    @Test(arguments: [
        ("text", "dark", "dark\n", #""dark""#), ("integer", "-7", "-7\n", "-7"),
        ("real", "1.5", "1.5\n", "1.5"), ("real", "inf", "9e999\n", "9e999"),
        ("blob", "AP8K", "\0\u{ff}\n", #""AP8K""#),
        (
            "json", #"{"b":[1,2.5,null,true,"/é"],"a":"x"}"#,
            #"{"a":"x","b":[1,2.5,null,true,"/é"]}"# + "\n",
            #"{"a":"x","b":[1,2.5,null,true,"/é"]}"#
        ),
    ])
    func `a value is put and read as its type`(
        _ type: String, _ value: String, _ text: String, _ json: String
    ) throws {
        let put = try workspace.run("kv", "put", "a.db", "k", "--type", type, "--", value)
        check(put.text == "put k\n" && put.status == 0, "\(put.errors)")
        let raw = try workspace.run("kv", "get", "a.db", "k").output
        check(raw, equals: (type == "blob" ? Data([0, 0xff, 0x0a]) : Data(text.utf8)))
        try check(workspace.run("kv", "get", "a.db", "k", "--json").text, equals: json + "\n")
        try check(
            workspace.run("kv", "list", "a.db", "--json").text,
            equals: "[\n{\"key\":\"k\",\"type\":\"\(type)\",\"value\":\(json)}\n]\n")
    }

    @Test func `a missing key ends with status 1 and prints nothing`() throws {
        try workspace.run("kv", "put", "a.db", "k", "--type", "null")
        let missing = try workspace.run("kv", "get", "a.db", "other")
        check(missing.status == 11 && missing.output.isEmpty && missing.errors == "")
        let null = try workspace.run("kv", "get", "a.db", "k")
        check(null.status == 0 && null.output.isEmpty)
        try check(workspace.run("kv", "get", "a.db", "k", "--json").text, equals: "null\n")
        try check(workspace.run("kv", "remove", "a.db", "other").status, equals: 11)
        try check(workspace.run("kv", "remove", "a.db", "k").text, equals: "removed k\n")
        try check(workspace.run("kv", "get", "a.db", "k").status, equals: 11)
    }

    @Test func `reading creates neither a file nor a store`() throws {
        try check(workspace.run("kv", "get", "none.db", "k").status, equals: 10)
        try check(workspace.run("kv", "remove", "none.db", "k").status, equals: 10)
        try check(workspace.names, equals: ["key"])
        try workspace.run("kv", "put", "a.db", "k", "v")
        let before = try workspace.read("a.db")
        for verb in ["get", "remove"] {
            let program = try workspace.run("kv", verb, "a.db", "k", "--store", "other")
            check(program.status, equals: 11)
            check(
                program.errors.contains("no key-value store \"other\"\nhint: it has \"default\""))
        }
        try check(workspace.run("kv", "list", "a.db").text.contains("k    text     v"))
        try check(workspace.read("a.db"), equals: before)
    }

    @Test func `stores in one file are separate, and prefixes list keys in byte order`() throws {
        for (store, key) in [("one", "b.2"), ("one", "b.1"), ("one", "a"), ("two", "b.3")] {
            try workspace.run("kv", "put", "a.db", key, "v", "--store", store)
        }
        let list = try workspace.run("kv", "list", "a.db", "--store", "one", "--prefix", "b")
        check(
            list.lines,
            equals: [
                "key  type     value", "───  ───────  ─────", "b.1  text     v", "b.2  text     v",
            ])
        try check(workspace.run("kv", "get", "a.db", "b.3", "--store", "one").status, equals: 11)
    }

    @Test func `values stored by an app are shown with their types`() throws {
        struct Window: Codable { var width = 640 }
        let store = SecureKeyValueStore(fullDatabasePath: workspace.file("a.db"))
        try store.open(with: .passphrase("x'\(Workspace.rawKey)'"))
        try store.put(Window(), forKey: "window")
        try store.put(NSString("archived"), forKey: "object")
        try store.put("soon gone", forKey: "expired", expiresIn: .milliseconds(1))
        try store.put("a\u{1b}b", forKey: "escape")
        store.close()
        usleep(10_000)
        let list = try workspace.run("kv", "list", "a.db")
        check(
            list.lines.dropFirst(2),
            equals: [
                #"escape  text     a\x1bb"#, "object  object   (an archived object)",
                #"window  json     {"width":640}"#,
            ])
        let object = try workspace.run("kv", "get", "a.db", "object")
        check(object.status == 13 && object.errors.contains("only its app can read"))
        try check(workspace.run("kv", "get", "a.db", "escape").text, equals: "a\u{1b}b\n")
    }

    @Test func `a value can come from standard input instead of an argument`() throws {
        let put = try workspace.run("kv", "put", "a.db", "k", input: "two\nlines\n")
        check(put.status, equals: 0)
        try check(workspace.run("kv", "get", "a.db", "k").text, equals: "two\nlines\n")
        let bytes = Data([0, 0xff, 0x0a])
        let blob = try Program(
            ["kv", "put", "a.db", "b", "--type", "blob", "--key-file", "key", "--raw-key"],
            input: bytes, directory: workspace.path)
        check(blob.status, equals: 0)
        try check(workspace.run("kv", "get", "a.db", "b").output, equals: bytes)
    }

    @Test(arguments: [
        ("integer", "1.5"), ("integer", "9223372036854775808"), ("real", "x"), ("real", "nan"),
        ("json", "{"), ("blob", "*"),
    ])
    func `a value that does not match its type creates no file`(_ type: String, _ value: String)
        throws
    {
        let program = try workspace.run("kv", "put", "a.db", "k", value, "--type", type)
        check(program.status == 16 && program.errors.contains("the value is not"))
        try check(workspace.names, equals: ["key"])
    }

    @Test func `a value expires`() throws {
        try workspace.run("kv", "put", "a.db", "k", "v", "--expires-in", "0.001")
        usleep(10_000)
        try check(workspace.run("kv", "get", "a.db", "k").status, equals: 11)
        try check(
            workspace.run("kv", "put", "a.db", "k", "v", "--expires-in", "0").status, equals: 2)
    }
}

struct InfoTests {
    let workspace: Workspace

    init() throws { workspace = try Workspace() }

    @Test func `info describes the file and its contents and leaves it unchanged`() throws {
        try workspace.fill(
            "a.db",
            """
            CREATE TABLE "a ""b" (x); INSERT INTO "a ""b" VALUES (1), (2); CREATE TABLE long_name (y);
            PRAGMA user_version = 7; PRAGMA application_id = 258;
            """)
        let before = try workspace.read("a.db")
        let text = try workspace.run("info", "a.db")
        check(text.status, equals: 0)
        for line in [
            "page size         4096", "pages             3", "journal mode      wal",
            "user version      7", "application id    258", "HMAC              HMAC_SHA512",
            "tables            2", #"  a "b       2 rows"#, "  long_name  0 rows",
            "size              \(before.count)",
        ] {
            check(text.lines.contains(line), "\(line): \(text.text)")
        }
        try check(workspace.read("a.db"), equals: before)
        try check(workspace.names.filter { $0.hasPrefix("a.db") }, equals: ["a.db"])

        let json = try workspace.run("info", "a.db", "--json").output
        let object = try require(
            JSONSerialization.jsonObject(with: json) as? [String: Any])
        check((object["page_size"] as? NSNumber)?.intValue, equals: 4096)
        let tables = object["tables"] as? [[String: Any]]
        check(tables?.map { ($0["rows"] as? NSNumber)?.intValue }, equals: [2, 0])
        let engine = try SecureDatabaseStore.engine
        check(object["engine_options"] as? [String], equals: engine.options)
        check(object["known_weaknesses"] as? [String], equals: engine.weaknesses.map(\.name))
        check(text.text.contains("\nengine options    \(engine.options[0]) "))
        check(text.errors.isEmpty)
        try check(workspace.run("info", "a.db", "--no-counts").lines.last, equals: "  long_name")
    }

    @Test func `files of other kinds are refused with a reason`() throws {
        try workspace.write(
            "SQLite format 3\0" + String(repeating: "x", count: 4080), to: "plain.db")
        try workspace.write("", to: "empty.db")
        try workspace.write(String(repeating: "x", count: 4096), to: "noise.db")
        for (name, status, reason) in [
            ("plain.db", 6, "sqlite3 shell"), ("empty.db", 6, "0 bytes"),
            ("noise.db", 5, "evenly"), (".", 14, "directory"),
        ] {
            let program = try workspace.run("info", name)
            check(program.status == status, "\(name)")
            check(program.errors.contains(reason), "\(program.errors)")
        }
    }
}
