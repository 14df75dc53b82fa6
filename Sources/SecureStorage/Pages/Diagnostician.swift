internal import Foundation

/// Determines what a file is; see `FileDiagnosis`.
struct Diagnostician {
    let path: String
    let key: EncryptionKey?
    let cipher: CipherConfiguration
    /// The number of pages to check before a key is called wrong; nil for all of them.
    var sampleLimit: Int?

    typealias Finding = FileDiagnosis.Finding

    /// The reasons, collected on the way.
    private struct Notes {
        var lines: [String] = []

        func result(_ finding: Finding) -> FileDiagnosis {
            FileDiagnosis(finding: finding, reasons: lines)
        }
    }

    func diagnose(_ progress: FileProgress.Handler = { _ in }) throws -> FileDiagnosis {
        var notes = Notes()
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw DatabaseFile(resolvedPath: path).failure(DatabaseFile.reason(errno))
            }
            notes.lines.append("nothing exists at \"\(path)\"")
            for suffix in DatabaseFile.sideFileSuffixes where access(path + suffix, F_OK) == 0 {
                notes.lines.append("its sidecar \(suffix) exists without it")
            }
            return notes.result(.missing)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            notes.lines.append("it is a directory, a link or a device, not a regular file")
            return notes.result(.notADatabase)
        }
        notes.lines.append("the file has \(status.st_size) bytes")
        guard status.st_size > 1 else { return notes.result(.empty) }
        return try diagnoseContent(notes, progress)
    }

    private func diagnoseContent(
        _ start: Notes, _ progress: FileProgress.Handler
    ) throws -> FileDiagnosis {
        var notes = start
        let view = try PageView(path, pageSize: cipher.pageSize)
        switch view.source {
        case .fileOnly: break
        case .log(let pages):
            notes.lines.append("its log contains \(pages) committed pages, which are included")
        case .journal(let pages):
            notes.lines.append(
                "a transaction was interrupted; the journal contains the \(pages) pages that it changed"
            )
        }
        let first =
            try view.page(1) ?? view.file.bytes(at: 0, count: min(view.fileSize, 4096)) ?? []
        let header = PlainHeader(first)
        if header.isSQLite {
            notes.lines.append("it starts like a plain SQLite file")
            if header.isReadable {
                notes.lines.append("and continues like one")
                if cipher.plaintextHeaderSize == 0 || key == nil {
                    return notes.result(.notEncrypted)
                }
            } else {
                notes.lines.append("but of its first page only the header is readable")
            }
            guard key != nil, cipher.plaintextHeaderSize > 0 else {
                return notes.result(header.isReadable ? .notEncrypted : .plaintextHeader)
            }
            do {
                _ = try key?.salts(outOf: DatabaseFile(resolvedPath: path), cipher)
            } catch {
                notes.lines.append("\(error)")
                return notes.result(.plaintextHeader)
            }
        }
        guard let key else { return withoutKey(first, notes) }
        if cipher.plaintextHeaderSize > 0, !header.isSQLite {
            return try withoutHeader(notes, progress)
        }
        return try diagnose(key, view, first, header, notes, progress)
    }

    /// Diagnoses a file that lacks the configured plaintext header, as a file without one.
    private func withoutHeader(
        _ start: Notes, _ progress: FileProgress.Handler
    ) throws -> FileDiagnosis {
        var notes = start
        notes.lines.append("it has no plaintext header")
        var other = cipher
        other.plaintextHeaderSize = 0
        other.salt = nil
        let diagnosis = try Diagnostician(
            path: path, key: key, cipher: other, sampleLimit: sampleLimit
        ).diagnose(progress)
        notes.lines += diagnosis.reasons.filter { !notes.lines.contains($0) }
        var result = notes.result(
            diagnosis.finding == .ok ? .otherCipher(other) : diagnosis.finding)
        result.format = diagnosis.format
        return result
    }

    private func withoutKey(_ first: [UInt8], _ start: Notes) -> FileDiagnosis {
        var notes = start
        if let reason = Randomness.objection(to: first) {
            notes.lines.append(reason)
            return notes.result(.notADatabase)
        }
        notes.lines.append("its bytes look random, like encrypted ones")
        return notes.result(.keyNeeded)
    }

    // MARK: - With a key

    /// Returns the pages under the key; nil when the file is too short to have a salt.
    func pageScan(_ view: PageView, _ key: EncryptionKey) throws -> PageScan? {
        let first =
            try view.page(1)
            ?? view.file.bytes(at: 0, count: min(view.fileSize, cipher.pageSize)) ?? []
        let derived: DerivedKey
        if let salts = try key.salts(outOf: DatabaseFile(resolvedPath: path), cipher) {
            derived = try key.derived(choosingFrom: salts, for: path, cipher)
        } else {
            let salt = try ownSalt(view, first)
            guard salt.count == CipherConfiguration.saltLength else { return nil }
            derived = try key.derived(salt: salt, cipher: cipher)
        }
        return PageScan(
            view: view, key: derived,
            cipher: try PageCipher(derived, cipher))
    }

    /// Returns the salt, with which the file begins unless its first page is being written just
    /// now.
    private func ownSalt(_ view: PageView, _ first: [UInt8]) throws -> [UInt8] {
        if case .log = view.source {
            return try view.file.bytes(at: 0, count: CipherConfiguration.saltLength) ?? []
        }
        return Array(first.prefix(CipherConfiguration.saltLength))
    }

    private func diagnose(
        _ key: EncryptionKey, _ view: PageView, _ first: [UInt8], _ header: PlainHeader,
        _ start: Notes, _ progress: FileProgress.Handler
    ) throws -> FileDiagnosis {
        var notes = start
        guard first.count >= 512, let scan = try pageScan(view, key) else {
            notes.lines.append("this is less than one page of any format")
            return notes.result(.notADatabase)
        }
        // While another connection writes, pages may be on their way from the log to the file.
        var current = scan
        for _ in 1...100 {
            if try current.knowsKey(lookingAt: sampleLimit ?? .max, progress) {
                let diagnosis = try Examination(scan: current).diagnosis(notes.lines, progress)
                return try withSideFiles(diagnosis, current)
            }
            guard try !current.view.isCurrent() else { break }
            usleep(5000)
            current = try current.again()
        }
        notes.lines.append(
            sampleLimit == nil
                ? "no page has a valid HMAC under the key"
                : "none of the examined pages has a valid HMAC under the key")
        if let format = try FormatSearch(path: path, key: key, cipher: cipher).run(scan.key) {
            notes.lines.append(format.evidence(cipher))
            var diagnosis = notes.result(format.finding(cipher))
            diagnosis.format = format
            return diagnosis
        }
        if header.isReadable { return notes.result(.notEncrypted) }
        if let reason = Randomness.objection(to: first) {
            notes.lines.append(reason)
            return notes.result(.notADatabase)
        }
        if case .passphrase = key {
        } else if try decryptsWithoutHMAC(scan) {
            guard !header.isSQLite else {
                notes.lines.append(
                    "but decrypted pages are sound: the salt is not the file's")
                return notes.result(.plaintextHeader)
            }
            notes.lines.append(
                "but decrypted pages are sound: the first 16 bytes, the salt, were changed")
            return notes.result(.corrupt(pages: [1]))
        }
        guard view.surplusBytes == 0 else {
            notes.lines.append(
                "nor is it a whole number of pages of \(cipher.pageSize) bytes: it is not a database with "
                    + "this cipher configuration, or it was truncated and the key is wrong")
            return notes.result(.notADatabase)
        }
        return notes.result(.wrongKey)
    }

    /// Adds damage beside the file to the diagnosis of a file whose pages were examined.
    private func withSideFiles(_ diagnosis: FileDiagnosis, _ scan: PageScan) throws -> FileDiagnosis
    {
        let journal = try JournalExamination(path: path, cipher: scan.cipher).damage()
        // Until its journal is played back, a file's pages prove nothing.
        if let journal {
            return FileDiagnosis(
                finding: .damagedJournal(journal),
                reasons: diagnosis.reasons + [journal.description])
        }
        let examination = LogExamination(path: path, cipher: scan.cipher, syncsCommits: true)
        guard scan.view.isLogFollowed, let log = try examination.damage() else { return diagnosis }
        return FileDiagnosis(
            finding: diagnosis.finding == .ok ? .damagedLog(log) : diagnosis.finding,
            reasons: diagnosis.reasons + [log.description])
    }

    /// Returns whether pages make sense when decrypted, whatever their HMAC.
    private func decryptsWithoutHMAC(_ scan: PageScan) throws -> Bool {
        let numbers = 2...UInt32(clamping: max(min(scan.view.pageCount, 8), 2))
        return try numbers.contains { number in
            guard let page = try scan.view.page(number),
                let content = page.withUnsafeBytes({ scan.cipher.decrypt($0, number: number) })
            else { return false }
            return DatabaseHeader.usualReserves(scan.cipher.format).contains {
                let usableSize = scan.view.pageSize - $0
                return BTreePage(content, number: number, usableSize: usableSize)?.isTiled == true
            }
        }
    }
}
