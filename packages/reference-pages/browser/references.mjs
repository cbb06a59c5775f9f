/** Returns a copy in which each local `$ref` is the object that it names. Recursive schemas contain themselves. */
export function withoutReferences(source) {
  const copies = new Map();
  const copy = (value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    if (typeof value.$ref === 'string') return copy(at(source, value.$ref));
    const own = Array.isArray(value) ? [] : {};
    copies.set(value, own);
    for (const [name, part] of Object.entries(value)) own[name] = copy(part);
    return own;
  };
  return copy(source);
}

/** The object that a JSON pointer such as `#/components/schemas/Message` names. */
function at(source, reference) {
  const names = reference.slice('#/'.length).split('/');
  return names.reduce(
    (value, name) => value[decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')],
    source,
  );
}
