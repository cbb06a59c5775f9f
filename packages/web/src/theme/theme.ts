const KEY = 'uswarm.theme';
export type Theme = 'light' | 'dark' | 'system';

export const THEMES = [
  { value: 'system', label: 'Colours of the device' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

/** The user's choice; `system` follows the device. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  showTheme();
}

export function showTheme(): void {
  document.documentElement.dataset['theme'] = chosenTheme();
}
