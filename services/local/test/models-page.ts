import { parseEnv } from 'node:util';

export interface ModelLine {
  line: string;
  environment: Record<string, string>;
}

/** The commands on a page that start local mode with variables. */
export function modelLines(page: string): ModelLine[] {
  return [...page.matchAll(/^((?:[A-Z_]+=\S+ )+)npm start$/gm)].map(([line, variables = '']) => ({
    line,
    environment: parseEnv(variables.trim().replaceAll(' ', '\n')) as Record<string, string>,
  }));
}
