import { useWorkspaces } from '@uswarm/client/react';
import { pages } from '../session/pages.js';
import { useClient, useSession } from '../session/use-client.js';
import { chooseTheme, chosenTheme, THEMES } from '../theme/theme.js';
import type { IconName } from '../ui/icons.js';
import type { MenuEntry } from '../ui/menu-entry.js';

export const LINKS: readonly [path: 'agents' | 'connections' | 'usage' | 'receipts', label: string, icon: IconName][] =
  [
    ['agents', 'Agents', 'agents'],
    ['connections', 'Connections', 'link'],
    ['usage', 'Usage', 'chart'],
    ['receipts', 'Receipts', 'receipt'],
  ];

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
  const themes = THEMES.map(({ value, label }, index) => ({
    label,
    current: value === theme,
    separated: index === 0,
    onSelect: () => chooseTheme(value),
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
