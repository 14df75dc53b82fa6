internal import Foundation

/// A place of which each thread has its own, nil at first: for the end of a chain that lies on its
/// stack.
struct ThreadSlot<Link>: Sendable {
    private let key: pthread_key_t

    init() {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        self.key = key
    }

    /// The calling thread's.
    var link: UnsafePointer<Link>? {
        get {
            pthread_getspecific(key).map { UnsafePointer($0.assumingMemoryBound(to: Link.self)) }
        }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}
