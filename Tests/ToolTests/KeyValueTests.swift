import Foundation
import SecureStorage
import Testing

@Suite struct KeyValueVerbTests {
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
        #expect(put.text == "put k\n" && put.status == 0, "\(put.errors)")
        let raw = try workspace.run("kv", "get", "a.db", "k").output
        #expect(raw == (type == "blob" ? Data([0, 0xff, 0x0a]) : Data(text.utf8)))
        #expect(try workspace.run("kv", "get", "a.db", "k", "--json").text == json + "\n")
        #expect(
            try workspace.run("kv", "list", "a.db", "--json").text
                == "[\n{\"key\":\"k\",\"type\":\"\(type)\",\"value\":\(json)}\n]\n")
    }

    @Test func `a missing key ends with status 1 and prints nothing`() throws {
        try workspace.run("kv", "put", "a.db", "k", "--type", "null")
        let missing = try workspace.run("kv", "get", "a.db", "other")
        #expect(missing.status == 11 && missing.output.isEmpty && missing.errors == "")
        let null = try workspace.run("kv", "get", "a.db", "k")
        #expect(null.status == 0 && null.output.isEmpty)
        #expect(try workspace.run("kv", "get", "a.db", "k", "--json").text == "null\n")
        #expect(try workspace.run("kv", "remove", "a.db", "other").status == 11)
        #expect(try workspace.run("kv", "remove", "a.db", "k").text == "removed k\n")
        #expect(try workspace.run("kv", "get", "a.db", "k").status == 11)
    }

    @Test func `reading creates neither a file nor a store`() throws {
        #expect(try workspace.run("kv", "get", "none.db", "k").status == 10)
        #expect(try workspace.run("kv", "remove", "none.db", "k").status == 10)
        #expect(try workspace.names == ["key"])
        try workspace.run("kv", "put", "a.db", "k", "v")
        let before = try workspace.read("a.db")
        for verb in ["get", "remove"] {
            let program = try workspace.run("kv", verb, "a.db", "k", "--store", "other")
            #expect(program.status == 11)
            #expect(
                program.errors.contains("no key-value store \"other\"\nhint: it has \"default\""))
        }
        #expect(try workspace.run("kv", "list", "a.db").text.contains("k    text     v"))
        #expect(try workspace.read("a.db") == before)
    }

    @Test func `stores in one file are separate, and prefixes list keys in byte order`() throws {
        for (store, key) in [("one", "b.2"), ("one", "b.1"), ("one", "a"), ("two", "b.3")] {
            try workspace.run("kv", "put", "a.db", key, "v", "--store", store)
        }
        let list = try workspace.run("kv", "list", "a.db", "--store", "one", "--prefix", "b")
        #expect(
            list.lines == [
                "key  type     value", "───  ───────  ─────", "b.1  text     v", "b.2  text     v",
            ])
        #expect(try workspace.run("kv", "get", "a.db", "b.3", "--store", "one").status == 11)
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
        #expect(
            list.lines.dropFirst(2) == [
                #"escape  text     a\x1bb"#, "object  object   (an archived object)",
                #"window  json     {"width":640}"#,
            ])
        let object = try workspace.run("kv", "get", "a.db", "object")
        #expect(object.status == 13 && object.errors.contains("only its app can read"))
        #expect(try workspace.run("kv", "get", "a.db", "escape").text == "a\u{1b}b\n")
    }

    @Test func `a value can come from standard input instead of an argument`() throws {
        let put = try workspace.run("kv", "put", "a.db", "k", input: "two\nlines\n")
        #expect(put.status == 0)
        #expect(try workspace.run("kv", "get", "a.db", "k").text == "two\nlines\n")
        let bytes = Data([0, 0xff, 0x0a])
        let blob = try Program(
            ["kv", "put", "a.db", "b", "--type", "blob", "--key-file", "key", "--raw-key"],
            input: bytes, directory: workspace.path)
        #expect(blob.status == 0)
        #expect(try workspace.run("kv", "get", "a.db", "b").output == bytes)
    }

    @Test(arguments: [
        ("integer", "1.5"), ("integer", "9223372036854775808"), ("real", "x"), ("real", "nan"),
        ("json", "{"), ("blob", "*"),
    ])
    func `a value that does not match its type creates no file`(_ type: String, _ value: String)
        throws
    {
        let program = try workspace.run("kv", "put", "a.db", "k", value, "--type", type)
        #expect(program.status == 16 && program.errors.contains("the value is not"))
        #expect(try workspace.names == ["key"])
    }

    @Test func `a value expires`() throws {
        try workspace.run("kv", "put", "a.db", "k", "v", "--expires-in", "0.001")
        usleep(10_000)
        #expect(try workspace.run("kv", "get", "a.db", "k").status == 11)
        #expect(try workspace.run("kv", "put", "a.db", "k", "v", "--expires-in", "0").status == 2)
    }
}

@Suite struct InfoTests {
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
        #expect(text.status == 0)
        for line in [
            "page size         4096", "pages             3", "journal mode      wal",
            "user version      7", "application id    258", "HMAC              HMAC_SHA512",
            "tables            2", #"  a "b       2 rows"#, "  long_name  0 rows",
            "size              \(before.count)",
        ] {
            #expect(text.lines.contains(line), "\(line): \(text.text)")
        }
        #expect(try workspace.read("a.db") == before)
        #expect(try workspace.names.filter { $0.hasPrefix("a.db") } == ["a.db"])

        let json = try workspace.run("info", "a.db", "--json").output
        let object = try #require(
            try JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect((object["page_size"] as? NSNumber)?.intValue == 4096)
        let tables = object["tables"] as? [[String: Any]]
        #expect(tables?.map { ($0["rows"] as? NSNumber)?.intValue } == [2, 0])
        let engine = try SecureDatabaseStore.engine
        #expect(object["engine_options"] as? [String] == engine.options)
        #expect(object["known_weaknesses"] as? [String] == engine.weaknesses.map(\.name))
        #expect(text.text.contains("\nengine options    \(engine.options[0]) "))
        #expect(text.errors.isEmpty)
        #expect(try workspace.run("info", "a.db", "--no-counts").lines.last == "  long_name")
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
            #expect(program.status == status, "\(name)")
            #expect(program.errors.contains(reason), "\(program.errors)")
        }
    }
}
