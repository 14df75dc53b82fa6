internal import CPlatform

/// The process that something was made in, to tell a child made with `fork()`, which has a copy of
/// the memory.
///
/// SQLite's locks are those of its process, threads that hold a lock of ours are not in the child,
/// and whatever the child did to a connection, the parent would not know. So nothing of the parent
/// is used there. Asking costs one load: the system calls a handler in the child, which counts the
/// forks.
struct HomeProcess {
    private let forkCount = cplatform_fork_count()

    /// Whether it is this process.
    @inline(__always)
    var isCurrent: Bool { forkCount == cplatform_fork_count() }

    /// - Throws: `.backingStoreError` code 21 in a child.
    @inline(__always)
    func requireCurrent() throws {
        guard isCurrent else { throw Self.forked }
    }

    /// Without an allocation for its text: not all memory can be had in a child.
    private static var forked: SecureStorageError {
        .backingStoreError(
            code: ResultCode.misuse.rawValue,
            message:
                "this was made before fork() and belongs to the parent process; a child makes its own, on files that its parent did not have open"
        )
    }
}
