/// A first-in, first-out queue.
struct FirstInFirstOut<Element> {
    private var elements: [Element] = []
    /// The index of the first element that is still queued.
    private var next = 0

    mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the first element; nil if the queue is empty.
    mutating func popFirst() -> Element? {
        guard next < elements.count else { return nil }
        defer {
            next += 1
            // Compacts when more than half has been removed: amortised constant time.
            if next * 2 > elements.count {
                elements.removeFirst(next)
                next = 0
            }
        }
        return elements[next]
    }
}
