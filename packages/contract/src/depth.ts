/**
 * True if arrays and objects are nested deeper than `levels`. Iterative, because recursion would overflow the stack.
 */
export function exceedsDepth(value: unknown, levels: number): boolean {
  const open: { part: unknown; depth: number }[] = [{ part: value, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { part, depth } = next;
    if (typeof part !== 'object' || part === null || ArrayBuffer.isView(part)) continue;
    if (depth === levels) return true;
    for (const child of Object.values(part)) {
      if (typeof child === 'object' && child !== null) open.push({ part: child, depth: depth + 1 });
    }
  }
  return false;
}
