internal import Foundation
internal import SecureStorage

/// Answers requests on a thread of its own, so that keys are read in the meantime.
final class BrowserWorker: @unchecked Sendable {
    // @unchecked: the variables are only accessed under `condition`.
    private let condition = NSCondition()
    private var request: BrowserRequest?
    private var counting: String?
    private var isCounting = false
    private var isEnding = false
    private var hasEnded = false
    private var answers: [BrowserAnswer] = []

    private let pages: BrowserPages
    /// Wakes the thread that reads the keys.
    private let wake: @Sendable () -> Void

    init(_ queue: SecureDatabaseQueue, wake: @escaping @Sendable () -> Void) {
        pages = BrowserPages(queue)
        self.wake = wake
        let thread = Thread { [self] in run() }
        // A condition or a view of the file may be nested deeply.
        thread.stackSize = 8 << 20
        thread.start()
    }

    /// Begins a request; rows are not counted until it is answered.
    func start(_ new: BrowserRequest) {
        condition.withLock {
            request = new
            if isCounting { pages.interrupt() }
            condition.signal()
        }
    }

    /// Counts the rows of a table when nothing else is to be done.
    func count(_ name: String) {
        condition.withLock {
            guard counting != name else { return }
            counting = name
            condition.signal()
        }
    }

    /// Ends the running request, whose answer is then `.interrupted`.
    func interrupt() {
        condition.withLock { pages.interrupt() }
    }

    /// The answers since the last call.
    func take() -> [BrowserAnswer] {
        condition.withLock {
            defer { answers = [] }
            return answers
        }
    }

    /// Ends the thread, after its last statement; a write that is being committed is waited for.
    func end() {
        condition.withLock {
            isEnding = true
            request = nil
            pages.interrupt()
            condition.signal()
            while !hasEnded, condition.wait(until: Date(timeIntervalSinceNow: 10)) {}
        }
    }

    private func run() {
        while let next = next() {
            // Counting that was interrupted begins again later.
            let answer = pages.answer(next) { [self] in post(.progress($0)) }
            condition.withLock {
                if isCounting, request != nil, answer.isUnknownCount { return }
                if case .counted(let name, _) = answer, counting == name { counting = nil }
                answers.append(answer)
            }
            wake()
        }
        condition.withLock {
            hasEnded = true
            condition.broadcast()
        }
    }

    private func next() -> BrowserRequest? {
        condition.withLock {
            isCounting = false
            while !isEnding {
                if let next = request {
                    request = nil
                    pages.begin()
                    return next
                }
                if let name = counting {
                    isCounting = true
                    pages.begin()
                    return .count(name)
                }
                condition.wait()
            }
            return nil
        }
    }

    private func post(_ answer: BrowserAnswer) {
        condition.withLock { answers.append(answer) }
        wake()
    }
}

extension BrowserAnswer {
    fileprivate var isUnknownCount: Bool {
        if case .counted(_, .unknown) = self { true } else { false }
    }
}
