import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureStorageTool

/// States and screens, without a terminal and without a database.
struct BrowserModelTests {
    private func rows(_ numbers: some Sequence<Int>) -> [BrowsedRow] {
        numbers.map { number in
            BrowsedRow(
                key: .values([RowKey.Part(value: .integer(Int64(number)), isText: false)]),
                cells: [
                    BrowsedRow.Cell(.integer(Int64(number))),
                    BrowsedRow.Cell(.text("日本 \(number)")),
                ])
        }
    }

    private let shape = TableShape(
        name: "t", kind: .table, columns: ["id", "text"], key: .rowID("rowid"))

    /// Answers requests for pages from 1,000 rows, and returns the other effects.
    private func answer(_ effects: [BrowserModel.Effect], _ model: inout BrowserModel) {
        var effects = effects
        while case .request(.page(_, let place, let limit))? = effects.first {
            func number(_ key: RowKey) -> Int {
                if case .values(let parts) = key, case .integer(let number) = parts[0].value {
                    return Int(number)
                }
                return 0
            }
            let numbers: Range<Int>
            switch place {
            case .first: numbers = 1..<min(1001, 1 + limit)
            case .last: numbers = max(1, 1001 - limit)..<1001
            case .after(let key): numbers = number(key) + 1..<min(1001, number(key) + 1 + limit)
            case .before(let key): numbers = max(1, number(key) - limit)..<number(key)
            case .from(let key): numbers = number(key)..<min(1001, number(key) + limit)
            }
            effects = model.take(
                .page(
                    RowPage(
                        shape: shape, rows: rows(numbers), place: place,
                        isAtStart: numbers.lowerBound == 1, isAtEnd: numbers.upperBound == 1001)))
        }
    }

    private func model(_ size: ScreenSize = ScreenSize(columns: 80, lines: 24)) -> BrowserModel {
        var model = BrowserModel(file: "a.db", isWritable: false, size: size)
        model.layOut()
        _ = model.start(.tables)
        _ = model.take(.tables([TableEntry(name: "t", kind: .table)]))
        answer(model.take(.enter), &model)
        return model
    }

    @Test func `any way through a table shows the rows that it should`() throws {
        var model = model()
        var random = SystemRandomNumberGenerator()
        var cursor = 1
        for _ in 0..<3000 {
            let height = model.bodyHeight
            let keys: [(Key, Int)] = [
                (.down, cursor + 1), (.up, cursor - 1), (.pageDown, cursor + height - 1),
                (.pageUp, cursor - height + 1),
            ]
            var (key, expected) = keys[Int.random(in: 0..<4, using: &random)]
            switch Int.random(in: 0..<100, using: &random) {
            case 0: (key, expected) = (.text("g"), 1)
            case 1: (key, expected) = (.text("G"), 1000)
            case 2:
                let size = ScreenSize(columns: 80, lines: Int.random(in: 8..<60, using: &random))
                answer(model.resize(to: size), &model)
                (key, expected) = (.control("l"), cursor)
            default: break
            }
            answer(model.take(key), &model)
            cursor = max(1, min(1000, expected))
            let window = try require(model.rows?.window)
            try require(window.current == rows([cursor])[0], "after \(key)")
            let shown = window.shown.map(\.cells[0].text)
            let first = try require(Int(shown[0]))
            try require(shown == (first..<first + shown.count).map { String($0) })
            try require(shown.count == min(1000, model.bodyHeight))
            try require(window.rows.count < 1000)
            if let number = window.number { try require(number == cursor) }
        }
    }

    @Test(arguments: [(40, 8), (80, 24), (200, 60), (33, 5), (1, 1)])
    func `no line is wider than the screen, and all are there`(_ columns: Int, _ lines: Int) {
        let size = ScreenSize(columns: columns, lines: lines)
        var model = model(size)
        for keys: [Key] in [
            [], [.right], [.text("?")], [.text("q"), .text("/"), .text("日")],
            [.escape, .text("G")],
            [.text("f")] + Array(repeating: .text("x"), count: 300),
        ] {
            for key in keys { answer(model.take(key), &model) }
            model.settleColumns()
            let view = BrowserView(model: model)
            check(view.lines.count, equals: (size.isTooSmall ? 1 : lines))
            for line in view.lines { check(line.width <= columns, "\(line.text)") }
            if let column = view.cursorColumn { check(1...columns ~= column) }
        }
    }

    @Test func `columns move sideways until the chosen one is visible`() throws {
        let names = (0..<30).map { "column \($0)" }
        let row = BrowsedRow(
            key: .offset(0), cells: names.map { BrowsedRow.Cell(.text("value of " + $0)) })
        var model = BrowserModel(
            file: "a.db", isWritable: false, size: ScreenSize(columns: 80, lines: 24))
        model.layOut()
        _ = model.open("t")
        _ = model.take(
            .page(
                RowPage(
                    shape: TableShape(name: "t", kind: .view, columns: names, key: .offset),
                    rows: [row], place: .first, isAtStart: true, isAtEnd: true)))
        for (key, column) in [(Key.end, 29), (.left, 28), (.home, 0), (.right, 1)] {
            _ = model.take(key)
            model.settleColumns()
            let line = BrowserView(model: model).lines[2]
            check(
                line.parts.first { $0.style == .chosenCell }?.text,
                equals: "value of column \(column)")
            check(line.width, equals: 80)
        }
    }

    @Test func `a table that gets another column is shown from its first row`() throws {
        var model = model()
        answer(model.take(.text("G")), &model)
        let other = TableShape(
            name: "t", kind: .table, columns: ["id"], key: .rowID("rowid"))
        let row = BrowsedRow(key: rows([1])[0].key, cells: [BrowsedRow.Cell(.integer(1))])
        _ = model.take(.right)
        _ = model.take(.text("b"))
        _ = model.take(.pageUp)
        let place = PagePlace.before(try require(model.rows?.window.rows.first).key)
        _ = model.start(.page(RowSource(table: "t"), place, limit: 3))
        let effects = model.take(
            .page(
                RowPage(
                    shape: other, rows: [row], place: place, isAtStart: false, isAtEnd: false)))
        model.settleColumns()
        check(BrowserView(model: model).lines.count, equals: 24)
        check(model.message, equals: .note("the schema has changed"))
        guard case .request(.page(_, .first, _))? = effects.first else {
            Issue.record("\(effects)")
            return
        }
    }

    @Test func `the cursor stays where it is when rows were changed or are read again`() throws {
        for top in [Key.text("g"), .text("G")] {
            var model = model()
            answer(model.take(top), &model)
            for key in [Key.pageUp, .down, .down, .down] { answer(model.take(key), &model) }
            let before = try require(model.rows?.window)
            answer(model.take(.text("r")), &model)
            check(model.rows?.window.current, equals: before.current)
            answer(model.take(.updated), &model)
            check(model.rows?.window.current, equals: before.current)
            check(model.rows?.window.shown, equals: before.shown)
            check(model.message, equals: .note("the cell was changed"))
        }
    }

    @Test func `after a deletion the next row is chosen, and after the last one that before`() {
        var window = RowWindow()
        func page(_ numbers: [Int]) -> RowPage {
            RowPage(
                shape: shape, rows: rows(numbers), place: .first, isAtStart: true, isAtEnd: true)
        }
        window.setHeight(10)
        window.take(page([1, 2, 3]))
        window.take(page([1, 3]))
        window.choose(rows([2])[0].key, line: 1)
        check(window.current, equals: rows([3])[0])
        window.take(page([1]))
        window.choose(rows([3])[0].key, line: 1)
        check(window.current, equals: rows([1])[0])
        window.take(page([]))
        window.choose(rows([1])[0].key, line: 0)
        check(window.current == nil && window.shown.isEmpty)
    }

    @Test func `a search moves to a column with the text, unless the chosen one has it`() {
        for (columns, column) in [([1], 1), ([0, 1], 0), ([], 0)] {
            var model = model()
            _ = model.start(.tables)
            _ = model.take(
                .found(
                    RowPage(
                        shape: shape, rows: rows([7]), place: .first, isAtStart: false,
                        isAtEnd: true), columns: columns))
            check(model.rows?.column, equals: column)
        }
    }

    @Test func `keys wait for an answer, except those that interrupt`() {
        var model = model()
        _ = model.take(.text("/"))
        _ = model.take(.text("x"))
        check(model.take(.enter).count == 1 && model.isBusy)
        check(model.take(.text("q")), equals: [])
        check(model.take(.escape) == [.interrupt] && model.take(.control("c")) == [.interrupt])
        check(model.take(.interrupted) == [] && model.message == .note("interrupted"))
        check(model.take(.control("c")), equals: [.quit(status: 130)])
    }

    @Test(arguments: [
        ("5", SQLiteValue.integer(4), SQLiteValue.integer(5)), ("1.5", .integer(4), .real(1.5)),
        ("x", .integer(4), .text("x")), ("5", .text("4"), .text("5")), ("NULL", .text("a"), .null),
        ("'NULL'", .text("a"), .text("NULL")), ("", .text("a"), .text("")),
    ])
    func `a typed value keeps its storage class if it can`(
        _ text: String, _ old: SQLiteValue, _ new: SQLiteValue
    ) {
        check(BrowserModel.value(of: text, like: old), equals: new)
        check(BrowserModel.value(of: ValueText.shown(old), like: old) == nil)
    }

    @Test func `a value is wrapped at the width, and a blob is a hex dump`() {
        var text = TextPane("t", .text("日本語\tab\u{1b}c\nsecond\r\n"))
        text.setSize(width: 10, height: 10)
        check(text.shown, equals: ["日本語  ab", "\\x1bc", "second", ""])
        text.setSize(width: 3, height: 2)
        check(text.shown, equals: ["日", "本"])
        _ = text.take(.text("G"))
        check(text.shown, equals: ["ond", ""])
        var bytes = TextPane("b", .blob(Data(0..<20)))
        bytes.setSize(width: 80, height: 10)
        check(
            bytes.shown,
            equals: [
                "00000000  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  |................|",
                "00000010  10 11 12 13                                       |....|",
            ])
    }

    @Test func `the part after a wide character is placed by its column`() {
        var line = StyledLine("日\u{1b}")
        line.add("x", .number)
        check(line.encoded(hasColors: true), equals: "日\\x1b\u{1b}[7G\u{1b}[36mx\u{1b}[m")
    }
}
