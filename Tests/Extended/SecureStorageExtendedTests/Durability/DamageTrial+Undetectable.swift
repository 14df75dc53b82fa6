import Foundation
@testable import SecureStorageTests

/// Damage that the threat model calls undetectable, judged by the original files and not by the
/// library's reading.
extension DamageTrial {
    var undetectable: String? {
        let content = state.files[file] ?? Data()
        switch (file, change) {
        case ("-wal", .cut): return "a log that was cut is that of an earlier moment"
        case ("-wal", .flip(let offset, _)): return undetectableFlip(inLog: content, offset)
        case ("-journal", .cut(let count)): return undetectableCut(ofJournal: content, to: count)
        case ("-journal", .flip(let offset, let byte)):
            // Like an earlier transaction's header that was zeroed to end the journal.
            let isHeader = content[offset...].starts(with: Self.journalMagic)
            guard isHeader, offset > 0, byte == 0 else { return nil }
            return "the first byte of a later header, made 0"
        default: return nil
        }
    }

    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    private func undetectableFlip(inLog log: Data, _ offset: Int) -> String? {
        let frameSize = 24 + DamagedState.pageSize
        let frames = (log.count - 32) / frameSize
        let ends = (0..<frames).filter { frame in
            log[(32 + frame * frameSize + 4)..<(32 + frame * frameSize + 8)].contains { $0 != 0 }
        }
        guard offset >= 32, ends.count > 1 else { return nil }
        let frame = (offset - 32) / frameSize
        let lastBegins = ends[ends.count - 2] + 1
        if frame >= lastBegins { return "in the last transaction, as a power cut leaves it" }
        return frame == lastBegins - 1 ? "in the frame that ends the last transaction but one" : nil
    }

    private func undetectableCut(ofJournal journal: Data, to count: Int) -> String? {
        if count == 0 { return "nothing is left of the journal" }
        var segment = 0
        while journal.count >= segment + 512, journal[segment...].starts(with: Self.journalMagic) {
            let records = journal[(segment + 8)..<(segment + 12)].reduce(0) { $0 << 8 | Int($1) }
            let end = segment + 512 + records * (DamagedState.pageSize + 8)
            let next = (end + 511) / 512 * 512
            // An incomplete header after complete records.
            if segment > 0, (segment..<(segment + 28)).contains(count) {
                return "cut between two parts"
            }
            if (end...next).contains(count) { return "cut between two parts" }
            segment = next
        }
        return nil
    }
}
