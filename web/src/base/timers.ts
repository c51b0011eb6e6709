/** What an environment may lack: browsers have no setImmediate, and jsdom has neither. */
interface Timers {
  readonly setTimeout: typeof setTimeout;
  readonly setImmediate?: (callback: () => void) => unknown;
  readonly MessageChannel?: typeof MessageChannel;
}

/**
 * The timers that were here when the package was loaded. Calls wait with them. The fake timers of a test, which come later,
 * would stop every call for good.
 */
export const {
  setTimeout: realTimeout,
  setImmediate: realImmediate,
  MessageChannel: RealMessageChannel,
} = globalThis as Timers;
