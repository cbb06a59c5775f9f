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
