import TestSupport
import Testing

@testable import SecureSync

/// Marks as files have them, also those that an earlier version has written.
struct MarkTests {
    @Test func `a row's beginning and end keep their numbers, and name no columns`() {
        let marks = [Mark.inserted, Mark.deleted, Mark.perhapsReplaced]
        check(marks, equals: [-1, -2, -3])
        check(marks.flatMap(Mark.columns), equals: [])
    }

    @Test func `a mask names columns of one word of 48`() {
        check(Mark.columns(0), equals: [])
        check(Mark.columns(0b101), equals: [0, 2])
        check(Mark.columns(1 << 47 | 1), equals: [0, 47])
        check(Mark.columns(1 << 48 | 1), equals: [48])
        check(Mark.columns(2 << 48 | 1 << 47), equals: [143])
    }

    @Test(arguments: [0, 1, 46, 47, 48, 49, 95, 96, 1999] as [Int64])
    func `each column is found again`(_ column: Int64) {
        check(Mark.columns(Mark.word(of: column) << 48 | Mark.bit(of: column)), equals: [column])
    }
}
