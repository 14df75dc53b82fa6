import TestSupport
import Testing

@testable import SecureStorage

struct PageNumbersTests {
    @Test func `the pages of the file come before those of a sidecar file`() {
        let numbers = PageNumbers(own: 3, others: [5, 7, 9, 11][1..<3])
        check(Array(numbers), equals: [1, 2, 3, 7, 9])
        check(Array(PageNumbers(own: 0, others: [4])), equals: [4])
        check(PageNumbers(own: 0, others: []).isEmpty)
    }

    @Test func `a number is found, or the next one after it`() {
        let numbers = PageNumbers(own: 3, others: [7, 9])
        let found = (0...10).map { numbers.index(of: $0, from: 0) }
        check(found, equals: [0, 0, 1, 2, 3, 3, 3, 3, 4, 4, 5])
        check(numbers.index(of: 2, from: 3), equals: 3)
    }

    @Test func `a list of pages stays short, and counts what it leaves out`() {
        var list = PageList()
        check(list.isEmpty)
        list.append(contentsOf: PageNumbers(own: 99_999, others: []))
        check(list.numbers.count, equals: 99_999)
        list.append(contentsOf: [7])
        check(list.numbers.last, equals: 7)
        check(list.isComplete && list.count == 100_000)
        list.append(contentsOf: [8, 9])
        check(list.numbers.count, equals: 100_000)
        check(list.numbers.last, equals: 7)
        check(!list.isComplete && list.count == 100_002)
    }
}
