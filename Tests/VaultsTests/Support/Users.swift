#if os(Linux)
    import Foundation

    /// Becomes another user, in a child process of root's.
    enum Users {
        /// A group that nobody of this machine belongs to, but who becomes a member.
        static let group: gid_t = 64_100

        /// A user without a name, in a group of its own, and in ``group`` when it is a member.
        static func become(_ number: Int, isMember: Bool = true) {
            var groups = [group]
            let user = uid_t(64_000 + number)
            setgroups(isMember ? 1 : 0, &groups)
            setgid(user)
            setuid(user)
            precondition(getuid() == user && geteuid() == user && getegid() == user)
        }

        /// Makes a directory that the group shares, as an administrator does.
        static func share(_ url: URL, mode: mode_t = 0o2770) throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            guard chown(url.path, 0, group) == 0, chmod(url.path, mode) == 0 else {
                throw POSIXError(.EPERM)
            }
        }
    }
#endif
