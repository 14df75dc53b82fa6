internal import Foundation

#if os(Linux)
    /// Reports when a database's file, log or journal is written to, created or removed.
    ///
    /// Uses inotify(7) on the directory for files that appear and disappear, and on the files
    /// themselves for writes. Writes to other files of the directory thus raise no event, and no
    /// descriptor of the file is opened, because closing it would drop SQLite's locks.
    final class FileWatch: @unchecked Sendable {
        // @unchecked: dispatch sources are thread-safe, but not declared so on Linux.
        private let descriptor: Int32
        private let directory: String
        private let names: [String]
        private let source: any DispatchSourceRead

        /// Starts watching; nil when the system cannot watch the directory.
        ///
        /// - Parameters:
        ///   - path: The path of the database's file.
        ///   - queue: The queue on which `handler` is called.
        ///   - handler: Called once for any number of events.
        init?(path: String, queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
            let url = URL(fileURLWithPath: path)
            directory = url.deletingLastPathComponent().path
            names = ["", "-wal", "-journal"].map { url.lastPathComponent + $0 }
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            let comings = UInt32(IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM)
            guard inotify_add_watch(descriptor, directory, comings) >= 0 else {
                close(descriptor)
                return nil
            }
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            let descriptor = descriptor
            source.setCancelHandler { close(descriptor) }
            for name in names { watch(name) }
            source.setEventHandler { [weak self] in
                if self?.takeEvents() == true { handler() }
            }
            source.resume()
        }

        deinit { source.cancel() }

        func end() { source.cancel() }

        private func watch(_ name: String) {
            // Fails for a missing file, which is watched as soon as it is created.
            _ = inotify_add_watch(descriptor, "\(directory)/\(name)", UInt32(IN_MODIFY))
        }

        /// Reads all pending events, and returns whether any concerns the database.
        private func takeEvents() -> Bool {
            var isConcerned = false
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { return isConcerned }
                isConcerned = note(buffer[..<count]) || isConcerned
            }
        }

        private func note(_ events: ArraySlice<UInt8>) -> Bool {
            events.withUnsafeBytes { bytes in
                var isConcerned = false
                var position = 0
                let headerSize = MemoryLayout<inotify_event>.size
                while position + headerSize <= bytes.count {
                    let event = bytes.loadUnaligned(
                        fromByteOffset: position, as: inotify_event.self)
                    let end = position + headerSize + Int(event.len)
                    guard end <= bytes.count else { break }
                    let name = String(
                        decoding: bytes[(position + headerSize)..<end].prefix { $0 != 0 },
                        as: UTF8.self)
                    position = end
                    // The watch of a removed file; the directory's event reports the removal.
                    guard event.mask & UInt32(IN_IGNORED) == 0 else { continue }
                    if event.len == 0 {
                        // A write, or an overflow in which events were dropped.
                        isConcerned = true
                    } else if names.contains(name) {
                        isConcerned = true
                        watch(name)
                    }
                }
                return isConcerned
            }
        }
    }
#elseif canImport(Darwin)
    /// Reports when a database's log or journal is written to, created or removed.
    ///
    /// The file itself is not watched: SQLite never writes to it without a log or journal, and
    /// closing a descriptor of it would drop SQLite's locks.
    final class FileWatch: @unchecked Sendable {
        // @unchecked: `sources` and `hasEnded` are only accessed under `lock`, or in `init`.
        private let path: String
        private let queue: DispatchQueue
        private let handler: @Sendable () -> Void
        private let lock = NSLock()
        private var sources: [String: any DispatchSourceFileSystemObject] = [:]
        private var hasEnded = false

        /// Starts watching; nil when the directory cannot be opened.
        ///
        /// - Parameters:
        ///   - path: The path of the database's file.
        ///   - queue: The queue on which `handler` is called.
        ///   - handler: Called once for any number of events.
        init?(path: String, queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
            self.path = path
            self.queue = queue
            self.handler = handler
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
            lock.withLock {
                watch(directory, [.write])
                watchSideFiles()
            }
            guard sources[directory] != nil else { return nil }
        }

        deinit { end() }

        func end() {
            lock.withLock {
                hasEnded = true
                for source in sources.values { source.cancel() }
                sources = [:]
            }
        }

        private func watchSideFiles() {
            for suffix in ["-wal", "-journal"] where sources[path + suffix] == nil {
                watch(path + suffix, [.write, .extend, .delete, .rename])
            }
        }

        private func watch(_ path: String, _ events: DispatchSource.FileSystemEvent) {
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: events, queue: queue)
            source.setCancelHandler { close(descriptor) }
            source.setEventHandler { [weak self, weak source] in
                guard let self, let source else { return }
                note(source.data, of: path)
                handler()
            }
            sources[path] = source
            source.resume()
        }

        private func note(_ events: DispatchSource.FileSystemEvent, of path: String) {
            lock.withLock {
                guard !hasEnded else { return }
                if !events.isDisjoint(with: [.delete, .rename]) {
                    sources.removeValue(forKey: path)?.cancel()
                }
                watchSideFiles()
            }
        }
    }
#else
    /// A watch that always fails: the platform cannot report writes to a file.
    final class FileWatch: Sendable {
        init?(path: String, queue: DispatchQueue, handler: @escaping @Sendable () -> Void) {
            return nil
        }

        func end() {}
    }
#endif
