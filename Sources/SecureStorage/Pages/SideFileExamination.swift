internal import Foundation

/// Examines a sidecar file that another connection may be writing: a moment later, only real damage
/// is left.
enum SideFileExamination {
    private struct Stamp: Equatable {
        let header: [UInt8]?
        let size: Int?
        let modified: ModificationTime?

        init(_ path: String) throws {
            let file = try RawFile(ifPresent: path)
            modified = file.map(ModificationTime.init)
            header = try file?.bytes(at: 0, count: 28)
            size = try file?.size()
        }
    }

    /// Returns what `look` finds if nothing was written while it looked, or if it finds the same
    /// twice.
    static func confirmed<D: Equatable>(_ path: String, _ look: () throws -> D?) throws -> D? {
        for _ in 0..<25 {
            let stamp = try Stamp(path)
            guard let damage = try look() else { return nil }
            if stamp.modified?.isSettled == true, try Stamp(path) == stamp { return damage }
            usleep(20_000)
            if try look() == damage, try Stamp(path).header == stamp.header { return damage }
        }
        return nil
    }
}
