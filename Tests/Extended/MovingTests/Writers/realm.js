// Writes the fixtures `realm-studio.json` and `realm-plain.json`; see ../Fixtures/README.md.
//
//     node realm.js FOLDER       with Debian's package node-flatted
//
// The objects are what `toJSON()` of Realm JavaScript 12 returns for the classes Person, Dog and
// Walk: linked objects are inlined, one copy for each class that is exported, cycles are kept,
// dates are `Date`, data is `ArrayBuffer`.

const fs = require("fs");
const { stringify } = require("flatted");
const folder = process.argv[2];

function objects() {
  const rex = {
    _id: "5f6a3b1c9d2e4f0012345678", name: "Rex", born: new Date(1600000000500), weight: 12.5,
    isVaccinated: true, photo: new Uint8Array([255, 216, 0, 1]).buffer, chip: null,
  };
  const bello = {
    _id: "5f6a3b1c9d2e4f0012345679", name: "Bello", born: new Date(-1000), weight: 3,
    isVaccinated: false, photo: null, chip: "0F8FAD5B-D9CB-469F-A165-70867728950E",
  };
  const ada = { _id: 1, name: "Ada", dogs: [rex, bello], address: { city: "London", zip: "12" } };
  const bob = { _id: 2, name: "Bob \"1\"", dogs: [], address: null };
  rex.owner = ada;
  bello.owner = ada;
  return { rex, bello, ada, bob };
}

// Each class with a graph of its own, as Realm Studio exports it.
let graph = objects();
const persons = [graph.ada, graph.bob];
graph = objects();
const dogs = [graph.rex, graph.bello];
graph = objects();
const walks = [{ _id: 1, dog: graph.bello, metres: 1200, at: new Date(1700000000123) }];
fs.writeFileSync(
  `${folder}/realm-studio.json`, stringify({ Person: persons, Dog: dogs, Walk: walks }));

// The same as an app writes it: links are primary keys, dates seconds, data Base64.
const plain = (dog, owner) => ({
  _id: dog._id, name: dog.name, born: dog.born.getTime() / 1000, weight: dog.weight,
  isVaccinated: dog.isVaccinated, chip: dog.chip, owner,
  photo: dog.photo && Buffer.from(dog.photo).toString("base64"),
});
fs.writeFileSync(`${folder}/realm-plain.json`, JSON.stringify({
  Person: persons.map((p) => ({
    _id: p._id, name: p.name, dogs: p.dogs.map((d) => d._id), address: p.address })),
  Dog: dogs.map((d) => plain(d, d.owner._id)),
}));
