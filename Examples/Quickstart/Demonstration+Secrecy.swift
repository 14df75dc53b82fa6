import Foundation
import SecureStorage

extension Demonstration {
    /// Changes the key, and checks that from then on only the new key opens the file.
    mutating func changeKey(from old: String, to new: String) throws {
        let (database, file) = (database, directory.database)
        // The log still holds the stored data; changing the key empties it, and `close` removes it.
        //
        // While the store is open, only the log may be read: closing a descriptor of the database
        // file itself would drop the locks that SQLite holds on it for this process (POSIX).
        let log = URL(fileURLWithPath: file.path + "-wal")
        var files = [("\(log.lastPathComponent), while open", try Data(contentsOf: log))]

        try step("change the key") {
            try database.changePassphrase(to: new)
        } outcome: {
            "the whole file is encrypted anew"
        }
        try database.close()
        let bytes = try Data(contentsOf: file)
        for url in try directory.files() {
            files.append((url.lastPathComponent, try Data(contentsOf: url)))
        }

        try report.heading("Keys that must not open it")
        try expectRefusal(of: old, "the old passphrase")
        try expectRefusal(of: Passphrase.random(), "another passphrase")
        try expect(bytes == Data(contentsOf: file), "a refused key leaves the file as it was")
        try lookForWords(in: files, bytes)

        let counts = try step("open with the new key") {
            try database.open(with: new)
            return try database.rowCounts()
        } outcome: {
            "\(Units.count($0.packages, "package")), \(Units.count($0.fields, "field"))"
        }
        try expect(counts.packages == list.packages.count, "every package is still there")
        let damage = try step("check the file") {
            try database.findDamage()
        } outcome: {
            $0.isEmpty ? "no damage in pages, rows and indexes" : Units.count($0.count, "complaint")
        }
        try expect(damage.isEmpty, "the file is sound: \(damage.first ?? "")")
        try database.close()
    }

    private mutating func expectRefusal(of passphrase: String, _ name: String) throws {
        // A separate store on the same file; this is allowed while the other one is closed.
        let store = SecureDatabaseStore(fullDatabasePath: directory.database.path)
        let message: String? = try step("try \(name)") {
            do {
                try store.open(with: passphrase)
                return nil
            } catch let error as SecureStorageError {
                // Any other error would mean that something other than the key is wrong.
                guard case .authenticationFailed = error else { throw error }
                return "\(error)"
            }
        } outcome: {
            $0 == nil ? "opened!" : "refused"
        }
        try expect(message != nil, "\(name) is refused")
        try report.paragraph("\(name): \(message ?? "")")
    }

    /// Searches the files for the words of the list, and as a control a copy that contains the
    /// list, in which the same search must find all of them.
    private mutating func lookForWords(
        in files: [(name: String, bytes: Data)], _ bytes: Data
    ) throws {
        let data = list.data
        let middle = bytes.count / 2
        let control = bytes.prefix(middle) + data + bytes.dropFirst(middle)
        let (words, hits, controlHits) = try step("search for words") {
            let scan = WordScan(wordsOf: data)
            return (scan.wordCount, files.map { scan.hits(in: $0.bytes) }, scan.hits(in: control))
        } outcome: {
            $0.0 == 0
                ? "the list has no word of eight letters"
                : "\(Units.count($0.0, "word")), \(Units.count($0.1.reduce(0, +))) found"
        }

        var table = Table(
            ("File", .left), ("Size", .right), ("Words looked for", .right), ("Found", .right))
        for (file, hits) in zip(files, hits) {
            table.add(
                file.name, Units.bytes(file.bytes.count), Units.count(words), Units.count(hits))
        }
        table.add(
            "for comparison: with the list in it", Units.bytes(control.count), Units.count(words),
            Units.count(controlHits))
        try report.heading("Words of the list (of eight letters or more) in the bytes of the files")
        try report.table(table)
        try expect(hits.allSatisfy { $0 == 0 }, "no word of the list is readable in the files")
        try expect(controlHits == words, "the search finds every word where they are")
    }
}
