import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A relative import or re-export, as the formatter writes it. */
const STATEMENT = /^(?:import|export) (?:([^'";]*?) from )?'(\.[^']+)';/gm;

/** True for statements that disappear when types are removed. */
function isTypeOnly(clause = '') {
  if (clause.startsWith('type ')) return true;
  const names = /^\{(.*)\}$/s.exec(clause.trim())?.[1].split(',');
  return names !== undefined && names.every((name) => /^\s*(type |$)/.test(name));
}

/** @returns the file that an import without a known extension leads to; undefined for files that are not code */
function fileOf(specifier) {
  const candidates = [specifier, specifier.replace(/\.js$/, '.ts'), specifier.replace(/\.js$/, '.tsx')];
  return candidates.find((file) => /\.tsx?$/.test(file) && existsSync(file));
}

/**
 * A folder's value imports, as pairs relative to it. Tests are left out: they may use everything.
 *
 * @param {string} root
 * @returns {[from: string, to: string][]}
 */
export function valueImports(root) {
  const files = readdirSync(root, { recursive: true }).filter((file) => /(?<!\.test)\.tsx?$/.test(file));
  return files.flatMap((from) =>
    [...readFileSync(path.join(root, from), 'utf8').matchAll(STATEMENT)].flatMap(([, clause, specifier]) => {
      const to = isTypeOnly(clause) ? undefined : fileOf(path.join(root, path.dirname(from), specifier));
      return to === undefined ? [] : [[from, path.relative(root, to)]];
    }),
  );
}

/**
 * Import graphs by folder: an import connects two entries in the innermost folder that contains both files.
 *
 * @param {[string, string][]} imports
 * @returns {Map<string, Map<string, Set<string>>>} by folder: the entries that an entry imports
 */
export function folderGraphs(imports) {
  const graphs = new Map();
  for (const [from, to] of imports) {
    const [a, b] = [from.split(path.sep), to.split(path.sep)];
    const depth = a.findIndex((name, index) => name !== b[index]);
    if (depth < 0) continue;
    const folder = a.slice(0, depth).join('/');
    const graph = graphs.get(folder) ?? new Map();
    graphs.set(folder, graph.set(a[depth], (graph.get(a[depth]) ?? new Set()).add(b[depth])));
  }
  return graphs;
}

/**
 * The entries that reach themselves.
 *
 * @param {Map<string, Set<string>>} graph
 */
export function entriesInCycles(graph) {
  function reaches(from, goal, seen = new Set()) {
    return [...(graph.get(from) ?? [])].some(
      (next) => next === goal || (!seen.has(next) && reaches(next, goal, seen.add(next))),
    );
  }
  return [...graph.keys()].filter((entry) => reaches(entry, entry));
}
