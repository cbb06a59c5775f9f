const KEY = 'uswarm.theme';
export type Theme = 'light' | 'dark' | 'system';

const dark = matchMedia('(prefers-color-scheme: dark)');

/** The choice of the user; `system` follows the device. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  show();
}

function show(): void {
  const chosen = chosenTheme();
  document.documentElement.dataset['theme'] = chosen === 'system' ? (dark.matches ? 'dark' : 'light') : chosen;
}

export function followTheme(): void {
  dark.addEventListener('change', show);
  show();
}
