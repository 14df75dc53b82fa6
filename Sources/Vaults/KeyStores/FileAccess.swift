internal import CPlatform
internal import Foundation

/// Who may use the files of a directory: their owner, or the members of the directory's group.
///
/// The directory of a group is made by an administrator, with the set-group-ID bit: what a member
/// makes in it belongs to that group, and not to the member's own (open(2)). Whether it is that
/// directory is all there is to check; none is made here.
enum FileAccess: Sendable {
    case owner
    case group

    init(sharedWithGroup: Bool) { self = sharedWithGroup ? .group : .owner }

    /// The mode of files, whatever the umask.
    var fileMode: mode_t { self == .owner ? 0o600 : 0o660 }

    /// Why a directory is not one for these alone; nil when it is.
    func objection(toDirectory status: stat, othersMayRead: Bool = false) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where othersMayRead && status.st_mode & 0o022 != 0:
            "can be written by others; chmod go-w it when nobody else can have changed what is in it"
        case .owner where !othersMayRead && status.st_mode & 0o077 != 0:
            "is open to others; chmod 700 it when nobody else can have changed what is in it"
        case .group where status.st_mode & 0o7777 != 0o2770:
            "is not for one group: make an empty one with the mode 2770 and that group"
        // Who owns it can replace what is in it.
        case .group where status.st_uid != 0 && status.st_uid != geteuid():
            "belongs to another user: have it made by root"
        case .group where !Self.isMember(of: status.st_gid):
            "belongs to a group that this process's user is not in"
        default: nil
        }
    }

    private static func isMember(of group: gid_t) -> Bool {
        if geteuid() == 0 || getegid() == group { return true }
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(Int(max(0, count))).contains(group)
    }

    /// Why a file in such a directory is not one that these make there; nil when it can be.
    func objection(toFile status: stat, in directory: stat) -> String? {
        switch self {
        case .owner where status.st_uid != geteuid(): "belongs to another user"
        case .owner where status.st_mode & 0o077 != 0: "is open to others (its mode is not 0600)"
        case .group where status.st_gid != directory.st_gid: "belongs to another group"
        case .group where status.st_mode & 0o007 != 0: "is open to others (its mode is not 0660)"
        default: nil
        }
    }

    /// Opens a file to lock it, and makes it when there is none.
    ///
    /// No member of a group meets it before it has its mode, nor after a kill: only its owner could
    /// give it that.
    ///
    /// - Returns: The descriptor; -1 with `errno`.
    func openLockFile(_ path: String) -> Int32 {
        let flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC
        if self == .owner { return open(path, flags | O_CREAT, fileMode) }
        let found = open(path, flags)
        guard found < 0, errno == ENOENT else { return found }
        let draft = "\(path).new-\(UUID().uuidString.lowercased())"
        let made = open(draft, flags | O_CREAT | O_EXCL, 0o600)
        guard made >= 0 else { return made }
        if fchmod(made, fileMode) == 0, cplatform_rename_exclusive(draft, path) == 0 {
            return made
        }
        // Another member may have been faster.
        close(made)
        unlink(draft)
        return open(path, flags)
    }

    /// Gives its mode to a closed file that this process has made, and nobody uses yet.
    ///
    /// - Returns: Whether it has it; else `errno` says why not.
    func setMode(ofFile path: String) -> Bool {
        // O_NONBLOCK: a FIFO in its place would wait for a writer.
        let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_uid == geteuid()
        else {
            errno = EPERM
            return false
        }
        return fchmod(file, fileMode) == 0 && cplatform_sync(file) == 0
    }
}
