"""The tree of keys: a logical key hierarchy (RFC 2627)."""
from .encoding import require


class Tree:
    def __init__(self):
        #: Members with whether they are admins, or None.
        self.leaves = []
        self.places = {}
        self.changed = set()
        #: By node, (epoch, commitment, wrapped for the left, for the right), the oldest first.
        self.versions = {}
        #: (epoch, commitment, wrapped by member).
        self.secrets = []
        self.needs_secret = True

    @property
    def height(self):
        return max(1, (len(self.leaves) - 1).bit_length())

    def add(self, member, is_admin):
        place = self.leaves.index(None) if None in self.leaves else len(self.leaves)
        if place == len(self.leaves):
            self.leaves.append(None)
        self.leaves[place] = (member, is_admin)
        self.places[member] = place
        if not is_admin:
            self.changed.add(place)

    def remove(self, member):
        place = self.places.pop(member, None)
        if place is None:
            return
        self.renew_at(place)
        self.leaves[place] = None
        while self.leaves and self.leaves[-1] is None:
            self.leaves.pop()

    def renew(self, member):
        if member in self.places:
            self.renew_at(self.places[member])

    def renew_at(self, place):
        if self.leaves[place][1]:
            self.needs_secret = True
        self.changed.add(place)

    def admins(self):
        return {leaf[0] for leaf in self.leaves if leaf and leaf[1]}

    def has_others(self):
        return any(leaf and not leaf[1] for leaf in self.leaves)

    def next_nodes(self, has_secret):
        below = {place: has_secret for place, leaf in enumerate(self.leaves) if leaf and not leaf[1]}
        nodes, changed = [], self.changed
        for level in range(1, self.height + 1):
            here, changed = {}, {place // 2 for place in changed}
            for index, is_new in below.items():
                here[index // 2] = here.get(index // 2, False) or is_new
            for index in here:
                if index in changed or (level, index) not in self.versions:
                    here[index] = True
            nodes += [(level, index) for index, is_new in here.items() if is_new]
            below = here
        return sorted(nodes)

    def child(self, level, index):
        """The member of a leaf, True for a node, None where only admins are."""
        if level == 0:
            leaf = self.leaves[index] if index < len(self.leaves) else None
            return leaf[0] if leaf and not leaf[1] else None
        leaves = self.leaves[index << level:(index + 1) << level]
        return True if any(leaf and not leaf[1] for leaf in leaves) else None

    def take(self, number, secret, nodes, for_others, is_wrapped):
        """`is_wrapped` says whether bytes are wrapped for a member by the right algorithm."""
        require(secret is not None or not self.needs_secret, "the secret of the tree has to be another one")
        if secret:
            require({m for m, _ in secret[1]} == self.admins(), "the secret is for all admins")
            require(all(is_wrapped(w, m) for m, w in secret[1]), "the secret is wrapped as keys allow")
        require([(level, index) for level, index, *_ in nodes] == self.next_nodes(secret is not None),
                "other nodes get keys")
        require(bool(for_others) == self.has_others(), "the key is for each member")
        for level, index, commitment, *wrapped in nodes:
            for side in (0, 1):
                child = self.child(level - 1, 2 * index + side)
                require(child is True or (is_wrapped(wrapped[side], child) if child else not wrapped[side]),
                        "a node's key is for who is below it")
        for level, index, *version in nodes:
            self.versions.setdefault((level, index), []).append((number, *version))
        if secret:
            self.secrets.append((number, secret[0], dict(secret[1])))
        self.changed, self.needs_secret = set(), False

    def give(self, member, wrapped):
        self.secrets[-1][2][member] = wrapped

    def way(self, member, epoch, height):
        """From a leaf to the root: (level, index, epoch, commitment, wrapped for who comes from below)."""
        index, way = self.places.get(member), []
        if index is None:
            return []
        for level in range(1, height + 1):
            side, index = index % 2, index // 2
            versions = [v for v in self.versions.get((level, index), []) if v[0] <= epoch]
            if not versions:
                return []
            number, commitment, *wrapped = versions[-1]
            way.append((level, index, number, commitment, wrapped[side]))
        return way
