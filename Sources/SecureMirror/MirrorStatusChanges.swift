internal import Foundation
internal import SecureStoragePlatform

// What changes a mirror's status.

extension StatusChanges<DatabaseMirror.Status> {
    /// Something was committed that is not in the store yet.
    func noteCommits() {
        update { $0.behindSince = $0.behindSince ?? Date() }
    }

    func noteStored(_ bytes: Int) {
        update { $0.storedBytes += bytes }
    }

    /// Everything that was committed until `date` is in the store.
    func noteComplete(_ date: Date) {
        let isNew = updateSilently { status in
            // While nothing is committed, only the time changes, which is not reported.
            guard status.behindSince == nil, status.failure == nil, status.completeAt != nil
            else { return true }
            status.completeAt = date
            return false
        }
        guard isNew else { return }
        update {
            $0.completeAt = date
            ($0.behindSince, $0.failure, $0.nextTry) = (nil, nil, nil)
        }
    }

    func noteFailure(_ error: any Error) {
        update {
            $0.failure = error
            $0.behindSince = $0.behindSince ?? Date()
        }
    }
}
