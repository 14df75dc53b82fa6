import Testing
import TestSupport

@testable import SecureStorage

/// The steps of a suspension, without a database.
struct SuspensionStateTests {
    @Test func `each suspension has a number of its own, also one that begins while another ends`()
    {
        var state = SuspensionState()
        var numbers = [state.announce()]
        check(state.announce(), equals: numbers[0])
        state.beginLeaving()
        check(state.end())
        check(state.stage, equals: .returning)
        numbers.append(state.announce())
        check(state.stage, equals: .leaving)
        state.endLeaving()
        check(state.end())
        numbers.append(state.announce())
        check(Set(numbers).count, equals: 3)

        // The timer of an earlier one comes late.
        for number in numbers.dropLast() {
            state.force(number)
            check(!state.beginLeaving(number))
        }
        check(state.stage, equals: .announced)
        state.force(numbers[2])
        check(state.stage, equals: .forced)
        check(state.beginLeaving(numbers[2]))
    }

    @Test func `a suspension that has ended is not wanted, and cannot end twice`() {
        var state = SuspensionState()
        check(!state.end())
        _ = state.announce()
        check(state.isWanted)
        check(!state.refusesStatements)
        check(state.end())
        check(!state.isWanted)
        check(!state.end())
        _ = state.announce()
        state.beginLeaving()
        check(state.refusesStatements)
        check(state.end())
        check(!state.refusesStatements)
        check(!state.end())
        state.endLeaving()
        check(state.stage, equals: .none)
    }
}
