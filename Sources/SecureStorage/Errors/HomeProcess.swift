internal import CSecureStoragePlatform

/// The process in which an object was created, to detect a `fork()` child, which has a copy of the
/// memory.
///
/// A child must not use the parent's objects: SQLite's locks belong to the parent process, threads
/// that hold the library's locks do not exist in the child, and the parent would not notice the
/// child's changes to a connection. The check costs one load: the system calls a handler in the
/// child that counts forks.
struct HomeProcess {
    private let forkCount = cplatform_fork_count()

    /// Whether the current process is that process.
    @inline(__always)
    var isCurrent: Bool { forkCount == cplatform_fork_count() }

    /// - Throws: `.backingStoreError` code `.misuse` in a child.
    @inline(__always)
    func requireCurrent() throws {
        guard isCurrent else { throw Self.forked }
    }

    /// The text must not allocate: a child cannot rely on the allocator.
    private static var forked: SecureStorageError {
        .backingStoreError(
            code: ResultCode.misuse.rawValue,
            message:
                "this was created before fork() and belongs to the parent process; a child must create its own, on files its parent did not have open"
        )
    }
}
