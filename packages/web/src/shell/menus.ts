import { useWorkspaces } from '@uswarm/client/react';
import { pages } from '../session/pages.js';
import { useClient, useSession } from '../session/use-client.js';
import { chooseTheme, chosenTheme } from '../theme/theme.js';
import type { MenuEntry } from '../ui/menu.js';

const THEMES = { system: 'Colours of the device', light: 'Light', dark: 'Dark' } as const;

export function useWorkspaceMenu(workspaceId: string | undefined): { name: string | undefined; entries: MenuEntry[] } {
  const workspaces = useWorkspaces(useClient());
  const entries = workspaces.map(({ id, name, unread_count: unread }) => ({
    label: unread > 0 && id !== workspaceId ? `${name} · ${unread} unread` : name,
    href: pages.workspace(id),
    current: id === workspaceId,
  }));
  return {
    name: workspaces.find(({ id }) => id === workspaceId)?.name,
    entries: entries.length === 0 ? [] : [...entries, { label: 'All workspaces', href: '/', separated: true }],
  };
}

export function useAccountMenu(): { user: string; entries: MenuEntry[] } {
  const { user, signOut, configuration } = useSession();
  const theme = chosenTheme();
  const themes = (['system', 'light', 'dark'] as const).map((each, index) => ({
    label: THEMES[each],
    current: each === theme,
    separated: index === 0,
    onSelect: () => chooseTheme(each),
  }));
  const entries = [
    { label: 'Account', href: pages.account },
    { label: 'Reference of the API', href: '/docs', external: true },
    ...(configuration.local ? [{ label: 'For developers', href: '/developers', external: true }] : []),
    ...themes,
    { label: 'Sign out', separated: true, onSelect: () => void signOut() },
  ];
  return { user: user.name, entries };
}
