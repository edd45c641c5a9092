/** The emoji that can be picked: a set of our own, small enough to come with the page. */

export interface EmojiCategory {
  id: "smileys" | "people" | "nature" | "food" | "activities" | "travel" | "objects" | "symbols";
  emoji: readonly string[];
}

/** Offered first for a reaction. */
export const QUICK_REACTIONS: readonly string[] = ["👍", "❤️", "😂", "😮", "😢", "🎉"];

export const EMOJI: readonly EmojiCategory[] = [
  category(
    "smileys",
    "😀 😃 😄 😁 😆 😅 😂 🤣 🙂 🙃 😉 😊 😇 🥰 😍 😘 😗 😋 😛 😜 🤪 🤗 🤭 🤫 🤔 🤐 😐 😑 😏 😒 🙄 😬 😌 😔 😴 😷 🤒 🤢 🤯 🥳 😎 🤓 😕 😟 🙁 😮 😲 😳 🥺 😨 😰 😢 😭 😱 😤 😡 😠 🤬 😈 💀 👻 👽 🤖 😺",
  ),
  category(
    "people",
    "👋 🤚 ✋ 🖖 👌 🤌 🤏 ✌️ 🤞 🤟 🤘 🤙 👈 👉 👆 👇 ☝️ 👍 👎 ✊ 👊 👏 🙌 👐 🤝 🙏 ✍️ 💪 👂 👀 🧠 👶 🧒 👩 👨 🧑 👵 👴 🙋 🤷 🤦 🙇 💃 🕺 🚶 🏃 👪 💑",
  ),
  category(
    "nature",
    "🐶 🐱 🐭 🐹 🐰 🦊 🐻 🐼 🐨 🐯 🦁 🐮 🐷 🐸 🐵 🐔 🐧 🐦 🐤 🦆 🦅 🦉 🦇 🐺 🐴 🦄 🐝 🦋 🐌 🐞 🐢 🐍 🐙 🐠 🐬 🐳 🌵 🌲 🌳 🌴 🌱 🍀 🍁 🌷 🌹 🌻 🌸 🌍 🌙 ⭐ 🌟 ☀️ ⛅ 🌧️ ⛈️ ❄️ 🔥 💧 🌊 🌈",
  ),
  category(
    "food",
    "🍏 🍎 🍐 🍊 🍋 🍌 🍉 🍇 🍓 🫐 🍒 🍑 🥭 🍍 🥥 🥝 🍅 🥑 🥦 🥕 🌽 🥔 🍞 🥐 🧀 🥚 🍳 🥞 🍔 🍟 🍕 🌭 🥪 🌮 🌯 🥗 🍝 🍜 🍣 🍱 🍚 🍦 🍩 🍪 🎂 🍰 🍫 🍬 🍯 ☕ 🍵 🥤 🍺 🍷 🥂 🍸",
  ),
  category(
    "activities",
    "⚽ 🏀 🏈 ⚾ 🎾 🏐 🎱 🏓 🏸 🥅 ⛳ 🏹 🎣 🥊 🥋 🎽 🛹 ⛸️ 🎿 🏂 🏋️ 🤸 🚴 🏊 🧗 🏆 🥇 🥈 🥉 🎫 🎭 🎨 🎬 🎤 🎧 🎼 🎹 🥁 🎷 🎺 🎸 🎻 🎲 ♟️ 🎯 🎳 🎮 🧩",
  ),
  category(
    "travel",
    "🚗 🚕 🚌 🚎 🏎️ 🚓 🚑 🚒 🚚 🚜 🛴 🚲 🛵 🏍️ 🚂 🚆 🚇 🚊 ✈️ 🛫 🚀 🚁 ⛵ 🚤 🛳️ ⚓ 🚦 🗺️ 🗽 🗼 🏰 🎡 🏖️ 🏝️ 🌋 ⛰️ 🏕️ 🏠 🏢 🏥 🏫 ⛪ 🌉 🌃",
  ),
  category(
    "objects",
    "⌚ 📱 💻 ⌨️ 🖥️ 🖨️ 📷 🎥 📞 📺 ⏰ ⌛ 🔋 💡 🔦 🕯️ 💸 💶 💳 💎 🔧 🔨 ⚙️ 🔑 🔒 🚪 🛏️ 🛁 🧸 🎁 🎈 🎉 🎊 ✉️ 📦 📅 📈 📌 📎 ✂️ 📏 📚 📖 ✏️ 🔍 💊 🧪 🔭",
  ),
  category(
    "symbols",
    "❤️ 🧡 💛 💚 💙 💜 🖤 🤍 🤎 💔 💕 💞 💓 💗 💖 💘 💯 💢 💥 💫 💦 💤 ✅ ❌ ❓ ❗ ⚠️ ♻️ ✔️ ➕ ➖ ➡️ ⬅️ ⬆️ ⬇️ 🔄 🔔 🔕 🎵 🎶 ⏸️ ▶️ 🏁 🏳️ 🔴 🟠 🟡 🟢 🔵 🟣",
  ),
];

function category(id: EmojiCategory["id"], emoji: string): EmojiCategory {
  return { id, emoji: emoji.split(" ") };
}
