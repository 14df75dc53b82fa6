internal import Foundation
internal import ObjectStores
internal import SecureKeys
internal import SecureMirror
internal import SecureStorage
internal import SecureSync

/// The reason why the program fails: one line, a hint on a separate line, and its kind.
struct Failure: Error {
    let message: String
    let hint: String?
    let kind: FailureKind
    /// Whether people have read it already, in a report on standard output.
    let isShown: Bool
    /// Where a statement has the error; then the message does not repeat the statement.
    var place: SQLErrorPlace?
    /// The line of the statement in which the error is, as long as no line of a script is named.
    var lineOfStatement = 1

    var status: Int32 { kind.status }

    init(
        _ message: String, hint: String? = nil, _ kind: FailureKind = .failed,
        isShown: Bool = false
    ) {
        self.message = message
        self.hint = hint
        self.kind = kind
        self.isShown = isShown
    }

    /// Returns a failure for incorrect usage.
    static func usage(_ message: String, hint: String? = nil) -> Failure {
        Failure(message, hint: hint, .usage)
    }

    /// Returns the failure of a system call, with the reason in `errno`.
    static func system(_ what: String, _ kind: FailureKind? = nil) -> Failure {
        let code = errno
        return Failure(
            "\(what): \(String(cString: strerror(code)))",
            kind ?? (code == ENOENT ? .noFile : .access))
    }

    static func noFile(_ path: String) -> Failure {
        Failure("no such file: \"\(path)\"", .noFile)
    }

    /// Returns the failure of a new file whose name is taken.
    static func exists(_ path: String) -> Failure {
        Failure("\"\(path)\" already exists", hint: "use --force to replace it", .exists)
    }

    /// Returns a failure of which people have read a report; programs get it as JSON.
    static func shown(_ message: String, _ kind: FailureKind) -> Failure {
        Failure(message, kind, isShown: true)
    }

    /// Returns the failure with the place that it concerns, such as a line of a script.
    func at(_ place: String, ending: String = "", _ kind: FailureKind? = nil) -> Failure {
        var failure = Failure("\(place): \(message)\(ending)", hint: hint, kind ?? self.kind)
        failure.place = self.place
        return failure
    }

    /// nil for errors of the argument parser.
    init?(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as SecureStorageError:
            let failure = Failure(error)
            self.init(ToolWords.text(failure.message), hint: failure.hint, failure.kind)
        case let error as SyncError: self.init(error)
        case let error as MirrorError: self.init(error)
        case let error as StoreError: self.init(error)
        case let error as KeyStoreError: self.init(error)
        case let error as CocoaError: self.init(error.localizedDescription, .access)
        default: return nil
        }
    }

    private init(_ error: SecureStorageError) {
        switch error {
        case .authenticationFailed(let message):
            self.init(
                message,
                hint:
                    "use --raw-key for a key in hex digits, --page-size and the like for files that were "
                    + "made with other settings", .wrongKey)
        case .notEncrypted(let message):
            self.init(
                message,
                hint:
                    "\"securestorage encrypt\" creates an encrypted copy of it; the sqlite3 shell opens "
                    + "it directly", .notEncrypted)
        case .legacyFormat(_, let message):
            self.init(message, hint: "use \"securestorage migrate\" to convert it", .otherFormat)
        case .encryptionKeyChangeUnknown:
            self.init(
                error.description,
                hint: "one of the two keys opens the file: try the new one, then the old one",
                .keyChangeUnknown)
        case .openFailed where error.isCorrupt:
            self.init(
                error.description,
                hint: "\"securestorage salvage\" copies what can still be read into a new file",
                .damaged)
        // Not by a signal: those end the program, or the shell's statement.
        case .backingStoreError where error.isInterrupted: self.init("interrupted")
        case _ where error.isBusy:
            self.init(error.description, hint: "another program is using the file", .busy)
        case .typeConversionFailed:
            self.init("the value does not have the requested type", .data)
        case .backingStoreError, .openFailed, .encryptionKeyChangeFailed:
            self.init(error.description, Self.kind(of: error.resultCode?.primary))
        case .closed, .suspended: self.init(error.description)
        }
    }

    private static func kind(of code: SQLiteResultCode?) -> FailureKind {
        switch code {
        case .error?, .constraint?, .mismatch?, .range?, .tooBig?, .notAuthorized?, .schema?,
            .misuse?:
            .sql
        case .corrupt?: .damaged
        case .busy?, .locked?, .lockProtocol?: .busy
        case .readOnly?, .ioError?, .full?, .cannotOpen?, .permission?: .access
        case .notADatabase?: .wrongKey
        default: .failed
        }
    }

    private init(_ error: KeyStoreError) {
        let hint: String? =
            if case .notFound = error {
                "check --device-keys: the directory has to be the one with which this file was created or joined"
            } else {
                nil
            }
        self.init(error.description, hint: hint, .noKey)
    }

    private init(_ error: SyncError) {
        switch error {
        case .store(let error): self.init(error)
        case .keyWithheld(let name):
            let name = Visible.text(name)
            self.init(
                "\"\(name)\" has changed the group's key, and has not given it to this device",
                hint:
                    "let an admin remove it with \"securestorage sync remove\", which changes the key "
                    + "again", .noKey)
        case .keysReplaced:
            self.init(
                "this member's keys were replaced, and this device does not have the new ones",
                hint:
                    "join again with an invitation; if no copy of this device has replaced them, let an "
                    + "admin remove this member with \"securestorage sync remove\"", .noKey)
        case .damaged(let name, let reason):
            self.init(
                "the object \"\(name)\" is damaged: \(reason)",
                hint:
                    "\"securestorage sync verify\" lists all damage; if the store cannot be put right, "
                    + "\"securestorage sync reset\" rebuilds the group from what the files have",
                .damaged)
        case .newerFormat(let name): self.init(newerFormat: name)
        case .tryAgain, .groupNotFound, .notAddedYet, .withheld, .storeHasForgotten, .groupHasMoved,
            .clockIsAhead:
            self.init(error.description, .store)
        case .otherEngine: self.init(error.description, .busy)
        case .notAMember, .invitationNotAccepted: self.init(error.description, .notFound)
        case .alreadyMember: self.init(error.description, .exists)
        case .lockFailed: self.init(error.description, .access)
        case .unsuitableTable, .captureWasOff, .notAllowed, .needsNewerSystem, .rowTooLarge:
            self.init(error.description, .failed)
        }
    }

    private init(_ error: MirrorError) {
        switch error {
        case .store(let error): self.init(error)
        case .otherMirror(let name):
            self.init(
                "another mirror writes under the name \"\(name)\", so this one has stopped",
                hint:
                    "give each database a --name of its own, or start this mirror again to take over",
                .otherMirror)
        case .noMirror(let name):
            self.init(
                "the store has no complete mirror \"\(name)\", or none of that time",
                hint:
                    "check --from and --name: \"securestorage mirrors\" lists what a store has, and "
                    + "\"mirror-log\" the times", .notFound)
        case .clockWasWrong(let last, let next):
            let (last, next) = (PointInTime.text(last), PointInTime.text(next))
            self.init(
                "the clock of the mirror's machine was wrong: the state after that of \(last) has the "
                    + "time \(next), which is still to come",
                hint: "--at \(last) and --at \(next) restore these two; without --at, the newest",
                .notFound)
        case .wrongKey(let name):
            self.init(
                "wrong key: the object \"\(name)\" was stored with another one",
                hint:
                    "states from before a change of the key have the key of that time; --raw-key is for a "
                    + "key in hex digits, --kdf-iterations and the like for other settings",
                .wrongKey)
        case .otherPageSize(let size):
            self.init(
                "the database has pages of \(size) bytes", hint: "pass --page-size \(size)",
                .otherFormat)
        case .damaged(let name, let reason):
            self.init(
                "the object \"\(name)\" is damaged: \(reason)",
                hint:
                    "check the key; \"securestorage mirror-verify\" lists all damage, and --at "
                    + "restores an earlier time", .damaged)
        case .newerFormat(let name): self.init(newerFormat: name)
        }
    }

    private init(_ error: StoreError) {
        switch error {
        case .invalidName(let name):
            self.init("\"\(name)\" cannot be a name in a store", hint: Self.ruleOfNames, .usage)
        case .cannotCreateOnly(let reason):
            self.init(
                "the store cannot be used: \(reason)",
                hint: "use a store that refuses to overwrite an object when it is asked to",
                .store)
        case .objectTooLarge: self.init(error.description, .damaged)
        case .failed: self.init(error.description, .store)
        }
    }

    private init(newerFormat name: String) {
        self.init(
            "the object \"\(name)\" was written by a newer version of this program",
            hint: "update it", .otherFormat)
    }

    /// What ``ObjectName`` says, for a hint.
    static let ruleOfNames =
        "a name has the characters a to z, 0 to 9, -, _ and ., with / between components"

    /// Writes it to standard error: as JSON for programs, else for people.
    func report() {
        if Report.isJSON {
            Report.write(
                code: kind.name, message: message, hint: hint, near: place?.after, status: status)
        } else if !isShown {
            try? Output.errors.write(line: "securestorage: " + message)
            for line in place?.excerpt ?? [] { try? Output.errors.write(line: "  " + line) }
            if let hint { try? Output.errors.write(line: "hint: " + hint) }
        }
        try? Output.errors.flush()
    }
}
