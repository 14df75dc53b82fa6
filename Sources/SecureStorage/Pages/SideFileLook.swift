internal import Foundation

/// Looks at a side file that somebody may be writing to: what is really damaged still is a moment later.
enum SideFileLook {
    private struct Stamp: Equatable {
        let header: [UInt8]?
        let size: Int?
        let modified: [Int]

        init(_ path: String) {
            let file = try? RawFile(path)
            header = try? file?.bytes(at: 0, count: 28)
            size = file?.size
            modified = file?.modified ?? []
        }

        /// Whether the last change is so long ago that another one since would show: the system's times go by
        /// ticks of some milliseconds.
        var isOld: Bool {
            guard modified.count == 2 else { return false }
            let time = Double(modified[0]) + Double(modified[1]) / 1e9
            return Date().timeIntervalSince1970 - time > 0.05
        }
    }

    /// What `look` finds, when nothing was written while it looked, or when it finds the same twice.
    static func confirmed<D: Equatable>(_ path: String, _ look: () throws -> D?) throws -> D? {
        for _ in 0..<25 {
            let stamp = Stamp(path)
            guard let damage = try look() else { return nil }
            if stamp.isOld, Stamp(path) == stamp { return damage }
            usleep(20_000)
            if try look() == damage, Stamp(path).header == stamp.header { return damage }
        }
        return nil
    }
}
