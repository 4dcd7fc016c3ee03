"""Words that the streets and places of Larkmere are named with."""

from __future__ import annotations

STREET_NAMES = (
    "Alder Almond Amber Apple Aspen Barley Beacon Beech Bell Birch Bluebell Bramble Brewer Briar "
    "Candle Cedar Chandler Cherry Chestnut Clover Cobbler Cooper Copper Curlew Damson Dove Elder "
    "Elm Falcon Fennel Fern Finch Fletcher Foxglove Garnet Gosling Hawthorn Hazel Heather Holly "
    "Honey Ivory Ivy Jasmine Juniper Kestrel Lantern Larch Laurel Lavender Linden Linnet Magpie "
    "Maple Marigold Mason Meadow Mulberry Myrtle Nettle Nightingale Oak Olive Orchid Osprey Otter "
    "Pear Pebble Pepper Pine Plover Plum Poplar Primrose Quill Quince Raven Robin Rosemary Rowan "
    "Saddler Sage Silver Sorrel Sparrow Spruce Starling Swallow Sycamore Tanner Tansy Teasel "
    "Thatcher Thistle Thrush Thyme Tulip Verbena Violet Walnut Weaver Willow Wren Yarrow Yew"
).split()
STREET_TYPES = ("Street", "Lane", "Road", "Row", "Walk", "Close")

#: First words of the names of shops, cafés and companies.
FIRST = (
    "Amber Anchor Apple Badger Barley Bell Birch Blue Bramble Brass Bright Candle Cedar Clover "
    "Cobalt Copper Corner Crooked Crown Dapper Dove Drowsy Fable Feather Fern Fiddler Finch Fox "
    "Gentle Gilded Golden Goose Green Hazel Heron Hollow Honey Indigo Ivory Jolly Juniper Kestrel "
    "Lantern Lark Linden Little Lucky Magpie Maple Marble Merry Moon Moss Nimble Nutmeg Oak Olive "
    "Orchard Otter Owl Paper Patient Pear Pepper Pilgrim Plum Quiet Quill Raven Red Robin Rowan "
    "Saffron Sage Salt Scarlet Silver Sparrow Star Sunny Swan Teal Thimble Thistle Velvet Violet "
    "Walnut Wandering Weaver Willow Winter Wren"
).split()
#: Second words by kind, separated by bars.
NOUNS = {
    "food": (
        "Kettle Café|Bakery|Kitchen|Table|Noodle Bar|Bistro|Tea Room|Canteen|Pizzeria|Grill|Spoon|"
        "Coffee House|Dumplings|Creperie|Tavern|Soup Bar|Diner|Patisserie|Curry House|Taproom"
    ),
    "shopping": (
        "Books|Grocery|Market|Hardware|Records|Shoes|Florist|Outfitters|Cheesemonger|Stationers|"
        "Toys|Greengrocer|Bicycles|Fabrics|Supermarket|Antiques|Electronics|Pet Shop|Wine Cellar|"
        "Garden Centre"
    ),
    "leisure": (
        "Cinema|Climbing Hall|Theatre|Pool|Dance Studio|Games Café|Gym|Gallery|Concert Hall|"
        "Bowling Club|Yoga Loft|Rowing Club|Museum|Choir Room|Ice Rink|Chess Club|Tennis Courts|"
        "Jazz Cellar|Pottery Studio|Football Ground"
    ),
    "health": (
        "Pharmacy|Dental Practice|Clinic|Physiotherapy|Eye Care|Family Practice|Health Centre|"
        "Children's Clinic"
    ),
    "errand": (
        "Post Office|Savings Bank|Library|Laundry|Barber|Tailor|Town Hall Annexe|Repair Shop|"
        "Hair Salon|Copy Shop|Nursery|Recycling Yard|Garage|Community Hall"
    ),
    "work": (
        "Architects|Software|Printworks|Accountants|Logistics|Instruments|Ceramics|Insurance|"
        "Design Studio|Laboratory|Engineering|Publishing|Foods|Furniture|Legal|Brewery|Textiles|"
        "Tools|Energy|Surveyors"
    ),
    "school": "School|Academy|College|Institute|Faculty|Music School|Language School|Workshop",
    "transit": "Tram Stop|Bus Station|Ferry Landing|Station",
    "park": "Bandstand|Playground|Rose Garden|Lookout|Picnic Lawn|Pond|Skate Park|Pavilion|Café "
    "Terrace|Meadow|Boat House|Sundial",
}
