/**
 * Canonical JSON: equal values give equal text regardless of key order. Null and undefined fields are left out. Called
 * several times per reconciliation, so it builds the text without intermediate lists.
 */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const fields = value as Record<string, unknown>;
  let text = '';
  for (const name of Object.keys(fields).toSorted()) {
    const field = fields[name];
    if (field === undefined || field === null) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonical(field)}`;
  }
  return `{${text}}`;
}

/** Whether two JSON values have the same canonical form, without building it. */
export function sameContent(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) {
    return (left ?? null) === (right ?? null);
  }
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, at) => sameContent(item, right[at]));
  }
  const [fields, others] = [left as Record<string, unknown>, right as Record<string, unknown>];
  for (const name of Object.keys(fields)) if (!sameContent(fields[name], others[name])) return false;
  for (const name of Object.keys(others))
    if (fields[name] === undefined && !sameContent(null, others[name])) return false;
  return true;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
