/** The path in the values that `.` or a variable refers to; undefined if unknown. */
type Place = readonly string[] | undefined;

/** Any component: shared templates receive its values as `.values`. */
const COMPONENT = '*';

interface Block {
  dot: Place;
  variables: Map<string, Place>;
}

/** An optional assignment and its expression: `with $x := .a`, `$x := .a`, `.a`. */
const ASSIGNMENT = /^(?:(\$\w+)(?:, *(\$\w+))? *:?= *)?(.*)$/s;
const REFERENCE = /(?<![\w.)])(\$\w*)?((?:\.[a-zA-Z]\w*)+)/g;
const ONLY_REFERENCE = /^(\$\w*)?((?:\.[a-zA-Z]\w*)+)$/;

/**
 * Value paths that a template reads, found in its text, also through `with`, `range` and variables. Paths in any
 * component's values begin with `*.`.
 */
export function valuesRead(template: string): string[] {
  const read = new Set<string>();
  const blocks: Block[] = [{ dot: undefined, variables: new Map() }];
  const lookUp = (name: string): Place => blocks.findLast(({ variables }) => variables.has(name))?.variables.get(name);
  const follow = (variable: string | undefined, fields: string): Place => {
    const path = fields.slice(1).split('.');
    const start = variable === undefined ? blocks.at(-1)!.dot : lookUp(variable);
    if (start !== undefined) return [...start, ...path];
    const [first, ...rest] = path[0] === 'root' ? path.slice(1) : path;
    if (first === 'Values') return rest;
    return first === 'values' ? [COMPONENT, ...rest] : undefined;
  };
  for (const [, action] of template.matchAll(/\{\{-?\s*(.*?)\s*-?\}\}/gs)) {
    const [, keyword = '', rest = ''] =
      /^(?:else )?(if|with|range|define|block|end|else|)\b\s*(.*)$/s.exec(action!) ?? [];
    if (action!.startsWith('/*')) continue;
    if (keyword === 'end') blocks.pop();
    if (keyword === 'else') continue;
    const [, key, second, what = ''] = ASSIGNMENT.exec(keyword === '' ? action! : rest)!;
    const code = what.replaceAll(/"(?:\\.|[^"\\])*"|`[^`]*`/g, '""');
    const found = [...code.matchAll(REFERENCE)].map(([, variable, fields]) => follow(variable, fields!));
    for (const place of found) if (place !== undefined && place.length > 0) read.add(place.join('.'));
    const [, variable, fields] = ONLY_REFERENCE.exec(code) ?? [];
    const place = fields === undefined ? undefined : follow(variable, fields);
    if (['if', 'with', 'range', 'define', 'block'].includes(keyword) && !action!.startsWith('else ')) {
      const outer = keyword === 'if' ? blocks.at(-1)!.dot : undefined;
      blocks.push({ dot: keyword === 'with' ? place : outer, variables: new Map() });
    }
    const isItem = keyword === 'range';
    for (const name of [key, second])
      if (name !== undefined) blocks.at(-1)!.variables.set(name, isItem ? undefined : place);
  }
  return [...read];
}
