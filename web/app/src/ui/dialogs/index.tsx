/**
 * The dialogs. One is open at a time.
 *
 * - `state`: the open dialog
 * - `settings`, `devices`, `shortcuts`: the account and this browser
 * - `new_conversation`, `join`, `pick_people`: new conversations
 * - `info`, `members`, `bans`, `rules`, `invites`, `leave`: a conversation and its members
 * - `message_details`, `forward`, `stars`, `scheduled`: messages
 * - `confirm`: confirmation of irreversible actions
 */

import { Confirm } from "./confirm.js";
import { Devices } from "./devices.js";
import { Forward } from "./forward.js";
import { Info } from "./info.js";
import { Join } from "./join.js";
import { Leave } from "./leave.js";
import { AddMembers } from "./members.js";
import { Edits, ReactionsOf, Receipts } from "./message_details.js";
import { NewConversation } from "./new_conversation.js";
import { Schedule, ScheduledMessages } from "./scheduled.js";
import { Settings } from "./settings.js";
import { Shortcuts } from "./shortcuts.js";
import { Stars } from "./stars.js";
import { dialog } from "./state.js";

export function Dialogs() {
  const open = dialog.value;
  switch (open?.type) {
    case undefined:
      return null;
    case "settings":
      return <Settings />;
    case "devices":
      return <Devices />;
    case "new_conversation":
      return <NewConversation />;
    case "join":
      return <Join token={open.token ?? ""} />;
    case "info":
      return <Info id={open.id} />;
    case "add_members":
      return <AddMembers id={open.id} />;
    case "leave":
      return <Leave id={open.id} />;
    case "receipts":
      return <Receipts message={open.message} />;
    case "reactions":
      return <ReactionsOf message={open.message} />;
    case "edits":
      return <Edits message={open.message} />;
    case "forward":
      return <Forward message={open.message} />;
    case "stars":
      return <Stars />;
    case "scheduled":
      return <ScheduledMessages />;
    case "schedule":
      return <Schedule conversation={open.conversation} message={open.message} onDone={open.onDone} />;
    case "shortcuts":
      return <Shortcuts />;
    case "confirm":
      return <Confirm {...open} />;
  }
}
