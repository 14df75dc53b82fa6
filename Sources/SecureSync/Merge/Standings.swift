internal import SecureStorage

/// Which of the rows that want one UNIQUE value have it: a pure function of the rows.
enum Standings {
    /// A row that may collide with others.
    struct Candidate {
        var table: Int64
        var key: RowKey
        var life: Stamp
        /// For each UNIQUE without a NULL, the values that it wants.
        var claims: Set<Claim>
    }

    /// The values of one UNIQUE, folded as its collations compare.
    struct Claim: Hashable {
        var table: Int64
        var unique: Int
        var values: RowKey
    }

    /// Returns, for each row, whether it has all that it wants.
    ///
    /// In the order of their births, ties by the member and the key: a row stands unless it
    /// collides with one that stands before it.
    static func standing(_ candidates: [Candidate]) -> [Bool] {
        let order = candidates.indices.sorted { left, right in
            let (left, right) = (candidates[left], candidates[right])
            if left.life != right.life { return left.life < right.life }
            return (left.table, left.key) < (right.table, right.key)
        }
        var taken: Set<Claim> = []
        var stands = [Bool](repeating: false, count: candidates.count)
        for index in order where taken.isDisjoint(with: candidates[index].claims) {
            stands[index] = true
            taken.formUnion(candidates[index].claims)
        }
        return stands
    }

    /// What a row wants of its table's UNIQUE constraints.
    static func claims(
        _ shape: TableShape, value: (String) -> SQLiteValue
    ) -> Set<Claim> {
        var claims: Set<Claim> = []
        for (number, unique) in shape.uniques.enumerated() {
            let values = zip(unique.columns, unique.collations).map { value($0).folded($1) }
            guard !values.contains(.null) else { continue }
            claims.insert(Claim(table: shape.number, unique: number, values: RowKey(values)))
        }
        return claims
    }
}
