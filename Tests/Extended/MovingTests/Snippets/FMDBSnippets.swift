import Foundation
import SecureStorage

// A compiled copy of the conversion in Docs/FromFMDB.md.

func openNotes(at encrypted: URL, plain: URL, key: DatabaseKey) throws -> SecureDatabaseQueue {
    let queue = SecureDatabaseQueue(url: encrypted)
    if !SecureDatabaseStore.exists(at: encrypted), SecureDatabaseStore.exists(at: plain) {
        try SecureDatabaseStore.importPlaintext(from: plain, to: encrypted, key: key)
    }
    do {
        try queue.open(with: key)
    } catch SecureStorageError.legacyFormat {
        try SecureDatabaseStore.migrate(at: encrypted, key: key)
        try queue.open(with: key)
    }
    return queue
}
