internal import Foundation
internal import SecureStorage
internal import SecureSync

/// The reason why the program fails: one line, a hint on a separate line, the exit status.
struct Failure: Error {
    static let usageStatus: Int32 = 2
    static let unknownKeyStatus: Int32 = 3
    /// Not 1: a service manager that started the mirror again would take over from the other one.
    static let otherMirrorStatus: Int32 = 4

    let message: String
    let hint: String?
    let status: Int32

    init(_ message: String, hint: String? = nil, status: Int32 = 1) {
        self.message = message
        self.hint = hint
        self.status = status
    }

    /// Returns a failure for incorrect usage.
    static func usage(_ message: String, hint: String? = nil) -> Failure {
        Failure(message, hint: hint, status: usageStatus)
    }

    /// Returns the failure of a system call, with the reason in `errno`.
    static func system(_ what: String) -> Failure {
        Failure("\(what): \(String(cString: strerror(errno)))")
    }

    /// A failure without a message, such as for a missing key of a key-value store.
    static let silent = Failure("")

    /// nil for errors of the argument parser.
    init?(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as SecureStorageError: self.init(error)
        case let error as SyncError: self.init(error)
        case let error as CocoaError: self.init(error.localizedDescription)
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
                    + "made with other settings")
        case .notEncrypted(let message):
            self.init(
                message,
                hint:
                    "\"securestorage encrypt\" creates an encrypted copy of it; the sqlite3 shell opens "
                    + "it directly")
        case .legacyFormat(_, let message):
            self.init(message, hint: "use \"securestorage migrate\" to convert it")
        case .encryptionKeyChangeUnknown:
            self.init(
                error.description,
                hint: "one of the two keys opens the file: try the new one, then the old one",
                status: Self.unknownKeyStatus)
        case .openFailed where error.isCorrupt:
            self.init(
                error.description,
                hint: "\"securestorage salvage\" copies what can still be read into a new file")
        case .backingStoreError where error.isInterrupted: self.init("interrupted")
        case .backingStoreError where error.isBusy:
            self.init(error.description, hint: "another program is using the file")
        case .typeConversionFailed:
            self.init("the value does not have the requested type")
        default: self.init(error.description)
        }
    }

    private init(_ error: SyncError) {
        switch error {
        case .invalidName(let name):
            self.init("\"\(name)\" cannot be a name in a store", hint: Self.ruleOfNames)
        case .storeCannotCreateOnly(let reason):
            self.init(
                "the store cannot be used: \(reason)",
                hint: "use a store that refuses to overwrite an object when it is asked to")
        case .otherMirror(let name):
            self.init(
                "another mirror writes under the name \"\(name)\", so this one has stopped",
                hint:
                    "give each database a --name of its own, or start this mirror again to take over",
                status: Self.otherMirrorStatus)
        case .noMirror(let name):
            self.init(
                "the store has no complete mirror \"\(name)\", or none of that time",
                hint: "check --from and --name; \"securestorage mirror-log\" shows the times")
        case .damaged(let name, let reason):
            self.init(
                "the object \"\(name)\" is damaged: \(reason)",
                hint:
                    "check the key; \"securestorage mirror-verify\" lists all damage, and --at "
                    + "restores an earlier time")
        case .newerFormat(let name):
            self.init(
                "the object \"\(name)\" was written by a newer version of this program",
                hint: "update it")
        case .store: self.init(error.description)
        }
    }

    /// What ``SyncObjectName`` says, for a hint.
    static let ruleOfNames =
        "a name has the characters a to z, 0 to 9, -, _ and ., with / between components"

    func report() {
        guard !message.isEmpty else { return }
        try? Output.errors.write(line: "securestorage: " + message)
        if let hint { try? Output.errors.write(line: "hint: " + hint) }
        try? Output.errors.flush()
    }
}
