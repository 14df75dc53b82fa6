internal import Foundation

/// A thread-local variable, initially nil, for the head of a linked list on the thread's stack.
struct ThreadSlot<Link>: Sendable {
    private let key: pthread_key_t

    init() {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        self.key = key
    }

    /// The calling thread's value.
    var link: UnsafePointer<Link>? {
        get {
            pthread_getspecific(key).map { UnsafePointer($0.assumingMemoryBound(to: Link.self)) }
        }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}
