/** “24 kB”, “1.2 MB”, in the browser's language. */
export function fileSize(bytes: number): string {
  const [unit, factor] = bytes < 1e6 ? (['kilobyte', 1e3] as const) : (['megabyte', 1e6] as const);
  return new Intl.NumberFormat(undefined, { style: 'unit', unit, maximumFractionDigits: 1 }).format(bytes / factor);
}
