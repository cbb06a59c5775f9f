import type { ReactNode } from 'react';

export interface MenuEntry {
  label: ReactNode;
  /** A page path; `external` ones are loaded as documents. */
  href?: string;
  external?: boolean;
  onSelect?: () => void;
  current?: boolean;
  /** True for a line above the entry. */
  separated?: boolean;
}
