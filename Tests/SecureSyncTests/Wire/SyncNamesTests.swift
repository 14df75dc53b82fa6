import Foundation
import ObjectStores
import SecureSync
import TestSupport
import Testing

struct SyncNamesTests {
    private let group = Data((0..<16).map { $0 * 17 })
    private let member = BatchSamples.members[0]

    @Test func `names have the forms of the format`() {
        let start = "00112233445566778899aabbccddeeff/"
        let log = start + "d/01010101010101010101010101010101/"
        check(
            SyncNames.chainEntry(group: group, number: 255), equals: start + "m/00000000000000/ff")
        check(
            SyncNames.batch(group: group, member: member, number: .max),
            equals: log + "ffffffffffffff/ff")
        check(SyncNames.mark(group: group), equals: start + "w")
        check(
            SyncNames.snapshotPart(group: group, rows: Data(count: 16), part: 1),
            equals: start + "p/00000000000000000000000000000000/00000000000000/01")
    }

    @Test func `every name keeps the rule of stores`() {
        let names = [
            SyncNames.chainEntry(group: group, number: 1), SyncNames.mark(group: group),
            SyncNames.batch(group: group, member: member, number: 1),
            SyncNames.snapshotPart(group: group, rows: Data(count: 16), part: 1),
        ]
        for name in names {
            check(ObjectName.isValid(name))
            check(SyncNames.group(of: name), equals: group)
            check(name < SyncNames.end(ofGroup: group))
        }
    }

    @Test(arguments: [1, 9, 10, 255, 1 << 40, UInt64(Int64.max)])
    func `a number is read from the name that has it`(_ number: UInt64) {
        let prefix = SyncNames.log(group: group, member: member)
        let name = SyncNames.batch(group: group, member: member, number: number)
        check(SyncNames.number(of: name, after: prefix), equals: number)
        check(SyncNames.number(of: name, after: SyncNames.chain(group: group)) == nil)
    }

    @Test(arguments: [
        "", "1", "0000000000000001", "00000000000000/1", "000000000000000/01", "00000000000000/0A",
        "+0000000000000/01", "-0000000000000/01", " 0000000000000/01", "00000000000000/00",
        "80000000000000/00", "ffffffffffffff/ff", "00000000000000/01/", "00000000000000/001",
        "0000000000000/001", "\u{301}0000000000000/01", "００００００００００００００/００",
    ])
    func `another name has no number`(_ rest: String) {
        let prefix = SyncNames.log(group: group, member: member)
        check(SyncNames.number(of: prefix + rest, after: prefix) == nil)
    }

    @Test(arguments: [
        "", "/", "w", "00112233445566778899aabbccddeeff", "00112233445566778899aabbccddeefF/w",
        "0112233445566778899aabbccddeeff/w", "+0112233445566778899aabbccddeeff/w",
        "000112233445566778899aabbccddeeff/w", "é0112233445566778899aabbccddeef/w",
    ])
    func `another name has no group`(_ name: String) {
        check(SyncNames.group(of: name) == nil)
    }
}
