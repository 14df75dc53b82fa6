/// Elements that leave in the order in which they came.
struct FirstInFirstOut<Element> {
    private var elements: [Element] = []
    /// Those before it have left.
    private var next = 0

    mutating func append(_ element: Element) { elements.append(element) }

    /// The one that came first, which leaves; nil when there is none.
    mutating func popFirst() -> Element? {
        guard next < elements.count else { return nil }
        defer {
            next += 1
            // Half of them each time, so that this costs nothing on average.
            if next * 2 > elements.count {
                elements.removeFirst(next)
                next = 0
            }
        }
        return elements[next]
    }
}
