import type { TextRule } from '../tasks/task.js';

/** True if a text follows a rule. */
export function matches(text: string, rule: TextRule): boolean {
  if (Array.isArray(rule)) return rule.every((one) => matches(text, one));
  if (typeof rule === 'object')
    return 'any' in rule ? rule.any.some((one) => matches(text, one)) : !matches(text, rule.not);
  const source = /^\/(.*)\/$/s.exec(rule)?.[1];
  return source === undefined ? text.toLowerCase().includes(rule.toLowerCase()) : new RegExp(source, 'is').test(text);
}

/**
 * Gives each rule a separate item. @returns what does not fit: rules without an item, and items without a rule
 */
export function pair<Rule, Item>(
  rules: readonly Rule[],
  items: readonly Item[],
  fits: (item: Item, rule: Rule) => boolean,
): { missing: Rule[]; unexpected: Item[] } {
  /** The item of each rule. */
  const given = new Map<number, number>();
  /** Finds an item for a rule; rules that have one already may take another (an augmenting path). */
  function give(rule: number, seen: Set<number>): boolean {
    return items.some((item, index) => {
      if (seen.has(index) || !fits(item, rules[rule] as Rule)) return false;
      seen.add(index);
      const owner = [...given].find(([, of]) => of === index)?.[0];
      if (owner !== undefined && !give(owner, seen)) return false;
      given.set(rule, index);
      return true;
    });
  }
  const missing = rules.filter((_, index) => !give(index, new Set()));
  const used = new Set(given.values());
  return { missing, unexpected: items.filter((_, index) => !used.has(index)) };
}
