internal import CSecureStoragePlatform

/// A Boolean that any thread may read, without a lock.
package final class SharedFlag: Sendable {
    // nonisolated(unsafe): the value is read and written atomically.
    nonisolated(unsafe) private let value: UnsafeMutablePointer<Int32>

    package init() {
        value = .allocate(capacity: 1)
        value.initialize(to: 0)
    }

    deinit { value.deallocate() }

    package var isOn: Bool { cplatform_load(value) != 0 }

    package func set(_ isOn: Bool) {
        if isOn != self.isOn { cplatform_store(value, isOn ? 1 : 0) }
    }
}
