import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { CHART } from './support/rendering.js';
import { valuesRead } from './support/template-values.js';
import { valueAt } from './support/value-paths.js';

describe('the parser of values in templates', () => {
  it.each<[string, string[]]>([
    ['{{ .Values.a.b }}', ['a.b']],
    ['{{- $.Values.a }}{{ .Chart.Name }}', ['a']],
    ['{{ include "x.y" . }}{{/* .Values.a */}}', []],
    ['{{ $values := .Values.a }}{{ default .Values.c $values.b }}', ['a', 'c', 'a.b']],
    ['{{ with .Values.a }}{{ .b }}{{ else }}{{ .c }}{{ end }}{{ .d }}', ['a', 'a.b', 'a.c']],
    ['{{ if .Values.a }}{{ with .Values.b }}{{ if .c }}{{ .d }}{{ end }}{{ end }}{{ end }}', ['a', 'b', 'b.c', 'b.d']],
    ['{{ range .Values.a }}{{ .b }}{{ $.Values.c }}{{ end }}', ['a', 'c']],
    ['{{ define "x" }}{{ .root.Values.a }}{{ .values.b }}{{ .image.c }}{{ end }}', ['a', '*.b']],
    ['{{ with .values.a }}{{ .b }}{{ end }}', ['*.a', '*.a.b']],
    ['{{ (default dict .values.a).b }}', ['*.a']],
  ])('finds the values in %s', (template, paths) => {
    expect(valuesRead(template)).toEqual(paths);
  });
});

it('values.yaml contains every value that templates read', async () => {
  const values = parse(await readFile(`${CHART}/values.yaml`, 'utf8')) as Record<string, object>;
  const files = (await readdir(`${CHART}/templates`, { recursive: true })).filter((name) => /\.\w+$/.test(name));
  const read = await Promise.all(
    files.map(async (file) =>
      valuesRead(await readFile(`${CHART}/templates/${file}`, 'utf8')).map((path) => ({ file, path })),
    ),
  );
  const components = [...Object.values(values), ...Object.values(values['evaluation'] ?? {})];
  const exists = (path: string): boolean =>
    path.startsWith('*.')
      ? components.some((component) => valueAt(component as object, path.slice(2)) !== undefined)
      : valueAt(values, path) !== undefined;
  expect(read.flat().length).toBeGreaterThan(200);
  expect(read.flat().filter(({ path }) => path !== '*' && !exists(path))).toEqual([]);
});
