internal import CSecureStoragePlatform
package import Foundation
package import SecureStoragePlatform

/// Who may use the files in a directory: their owner, or the members of the directory's group.
///
/// An administrator creates a group's directory with the set-group-ID bit, so files that a member
/// creates in it belong to that group instead of the member's own (open(2)). This type checks such
/// a directory but never creates one.
package enum FileAccess: Sendable {
    case owner
    case group

    package init(sharedWithGroup: Bool) { self = sharedWithGroup ? .group : .owner }

    /// The mode of created files, independent of the umask.
    package var fileMode: mode_t { self == .owner ? 0o600 : 0o660 }

    /// Returns why a directory is not restricted to these users, or nil when it is.
    package func objection(toDirectory status: stat, othersMayRead: Bool = false) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where othersMayRead && status.st_mode & 0o022 != 0:
            "can be written by others; chmod go-w it if no one else can have changed its contents"
        case .owner where !othersMayRead && status.st_mode & 0o077 != 0:
            "is open to others; chmod 700 it if no one else can have changed its contents"
        case .group where status.st_mode & 0o7777 != 0o2770:
            "is not restricted to one group: create an empty one with mode 2770 and that group"
        // The directory's owner can replace its contents.
        case .group where status.st_uid != 0 && status.st_uid != geteuid():
            "belongs to another user: have root create it"
        case .group where !Self.isMember(of: status.st_gid):
            "belongs to a group that does not include this process's user"
        default: nil
        }
    }

    private static func isMember(of group: gid_t) -> Bool {
        if geteuid() == 0 || getegid() == group { return true }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(Int(max(0, count))).contains(group)
    }

    /// Returns why a file in `directory` cannot have been created by this store, or nil when it
    /// can.
    package func objection(toFile status: stat, in directory: stat) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where status.st_mode & 0o077 != 0: "is open to others (its mode is not 0600)"
        case .group where status.st_gid != directory.st_gid: "belongs to another group"
        case .group where status.st_mode & 0o007 != 0: "is open to others (its mode is not 0660)"
        default: nil
        }
    }

    /// Opens a file for locking, and creates it if it does not exist.
    ///
    /// Other members of a group never see the file before it has its final mode, even after a kill:
    /// only its owner could still set that mode.
    ///
    /// - Throws: `SystemError`.
    package func openLockFile(_ path: String) throws -> Descriptor {
        let flags = O_RDWR | O_NOFOLLOW
        if self == .owner { return try Descriptor(path, flags | O_CREAT) }
        do {
            return try Descriptor(path, flags)
        } catch let error as SystemError where error.code == ENOENT {
            let draft = "\(path).new-\(UUID().uuidString.lowercased())"
            let made = try Descriptor(creating: draft, mode: fileMode)
            if cplatform_rename_exclusive(draft, path) == 0 { return made }
            // Another member may have created it first.
            unlink(draft)
            return try Descriptor(path, flags)
        }
    }

    /// Sets the mode of a closed file that this process has created and that is not yet in use.
    ///
    /// - Throws: `SystemError`.
    package func setMode(ofFile path: String) throws {
        // O_NONBLOCK: opening a FIFO in the file's place would wait for a writer.
        let file = try Descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_uid == geteuid()
        else { throw SystemError("change the mode of", code: EPERM) }
        guard fchmod(file.number, fileMode) == 0 else { throw SystemError("change the mode of") }
        try file.sync()
    }
}
