/// The reason why a command fails, as text for people.
package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// Returns text from files and databases with characters that a terminal would act on escaped.
package func visible(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { text, scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            text += "\\u{\(String(scalar.value, radix: 16))}"
        default: text.unicodeScalars.append(scalar)
        }
    }
}
